// First come, first served by job: a turn stands where its job's first turn stood. Turns of jobs
// whose KV is pinned go before all others, since they are cheapest to serve and hold memory until
// they are.
#include <algorithm>
#include <memory>
#include <tuple>

#include "workers/engine/queue_order.hpp"
#include "workers/policies/config.hpp"
#include "workers/policies/ranked_queue.hpp"

namespace policies {
namespace {

using engine::JobId;
using engine::Request;
using engine::RunningList;

class JobFcfs final : public engine::QueueOrder {
 public:
  explicit JobFcfs(VictimRule victim) : victim_(victim) {}

  void push(Request& request) override {
    JobState& job = state_of(request.spec.job);
    job.waiting = &request;
    queue_.push(request);
  }
  void push_preempted(Request& request) override { push(request); }
  Request* front() const override { return queue_.front(); }
  void remove(Request& request) override {
    state_of(request.spec.job).waiting = nullptr;
    queue_.remove(request);
  }
  int size() const override { return queue_.size(); }
  std::vector<const Request*> in_service_order() const override {
    return queue_.in_service_order();
  }

  void on_pin_changed(JobId id, bool pinned) override {
    JobState& job = state_of(id);
    job.pinned = pinned;
    if (job.waiting != nullptr) queue_.update(*job.waiting);
  }

  Request& choose_victim(const RunningList& running) const override {
    return victim_ == VictimRule::last_unpinned ? last_unpinned(running) : latest_job(running);
  }

 private:
  struct JobState {
    bool pinned = false;
    Request* waiting = nullptr;  // a job has one turn at a time
  };

  struct Before {
    const JobFcfs* order;
    bool operator()(const Request& a, const Request& b) const {
      const auto rank = [&](const Request& r) {
        return std::tuple(!order->pinned(r), r.spec.job_arrival, r.spec.arrival, r.id);
      };
      return rank(a) < rank(b);
    }
  };

  JobState& state_of(JobId job) {
    if (engine::index(job) >= jobs_.size()) jobs_.resize(engine::index(job) + 1);
    return jobs_[engine::index(job)];
  }
  bool pinned(const Request& r) const {
    return engine::index(r.spec.job) < jobs_.size() && jobs_[engine::index(r.spec.job)].pinned;
  }

  Request& last_unpinned(const RunningList& running) const {
    for (Request* r = running.back(); r != nullptr; r = running.prev(*r)) {
      if (!pinned(*r)) return *r;
    }
    return *running.back();
  }

  /// The job that came last gives way; turns that end their job are spared while there is another.
  static Request& latest_job(const RunningList& running) {
    const auto rank = [](const Request& r) {
      return std::tuple(!r.spec.last_turn, r.spec.job_arrival);
    };
    Request* victim = running.front();
    for (Request* r = victim; r != nullptr; r = running.next(*r)) {
      if (rank(*victim) <= rank(*r)) victim = r;
    }
    return *victim;
  }

  VictimRule victim_;
  std::vector<JobState> jobs_;
  RankedQueue<Before> queue_{Before{this}};
};

}  // namespace

std::unique_ptr<engine::QueueOrder> make_job_fcfs_order(const PolicyConfig& config) {
  return std::make_unique<JobFcfs>(config.victim);
}

}  // namespace policies
