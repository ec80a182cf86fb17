// First come, first served by job: a turn takes the queue position of its job's first turn. Turns
// of jobs with pinned KV go before all others, since they are cheapest to serve and hold memory
// until they are served. In the order of the cache-TTL paper (arXiv:2511.02230, cache_ttl)
// preempted turns go before them.
#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <tuple>

#include "workers/policies/estimators/by_id.hpp"
#include "workers/policies/order/config.hpp"
#include "workers/policies/order/ranked_queue.hpp"

namespace policies {
namespace {

using engine::JobId;
using engine::Nanos;
using engine::Request;
using engine::RunningList;

enum class VictimRule {
  last_unpinned,   // the last admitted request of a job without a pin
  latest_job,      // a request of the job that arrived last, sparing turns that end their job
  latest_arrival,  // a request of the job that arrived last, whatever its turn
};
constexpr const char* kVictims[] = {"last_unpinned", "latest_job", "latest_arrival"};
constexpr Parameter kVictim = {
    .name = "victim",
    .words = kVictims,
    .says =
        "Which running request is preempted: the one admitted last whose job is not "
        "pinned, one of the latest job but not a job's last turn, or one of the latest "
        "job whatever its turn."};

VictimRule victim_rule(const Parameters& given) {
  const std::string word = word_of(kVictim, given);
  return static_cast<VictimRule>(std::ranges::find(kVictims, word) - std::begin(kVictims));
}

class JobOrder final : public RankedOrder<JobOrder> {
 public:
  JobOrder(bool preempted_first, const OrderConfig& config)
      : preempted_first_(preempted_first), victim_(victim_rule(config.parameters)) {}

  void push(Request& request) override { enqueue(request, false); }
  void push_preempted(Request& request) override { enqueue(request, true); }
  void put_back(Request& request) override { enqueue(request, request.num_preemptions > 0); }
  /// The queue needs the job's state to rank the request while it removes it.
  void remove(Request& request) override {
    RankedOrder::remove(request);
    Job& job = jobs_[request.spec.job];
    job.waiting = nullptr;
    job.preempted = false;
  }
  void on_pin_changed(JobId id, bool pinned) override {
    Job& job = jobs_[id];
    job.pinned = pinned;
    if (job.waiting != nullptr) update(*job.waiting);
  }
  Request& choose_victim(const RunningList& running) const override {
    return victim_ == VictimRule::last_unpinned ? last_unpinned(running) : latest(running);
  }

  /// Which turns precede others, and the place within each group.
  std::tuple<int, Nanos, Nanos, engine::RequestId> rank(const Request& r) const {
    const bool preempted = preempted_first_ && jobs_[r.spec.job].preempted;
    return {preempted ? 0 : pinned(r) ? 1 : 2, r.spec.job_arrival, r.spec.arrival, r.id};
  }

 private:
  struct Job {
    bool pinned = false, preempted = false;
    Request* waiting = nullptr;  // a job has one turn at a time
  };

  void enqueue(Request& request, bool preempted) {
    Job& job = jobs_[request.spec.job];
    job.waiting = &request;
    job.preempted = preempted;
    RankedOrder::push(request);
  }
  bool pinned(const Request& request) const {
    const Job* job = jobs_.find(request.spec.job);
    return job != nullptr && job->pinned;
  }

  Request& last_unpinned(const RunningList& running) const {
    for (Request* r = running.back(); r != nullptr; r = running.prev(*r))
      if (!pinned(*r)) return *r;
    return *running.back();
  }
  /// Chooses a request of the job that arrived last. With the rule latest_job, a turn that ends its
  /// job is chosen only when there is no other.
  Request& latest(const RunningList& running) const {
    const auto rank = [&](const Request& r) {
      return std::tuple(victim_ == VictimRule::latest_arrival || !r.spec.last_turn,
                        r.spec.job_arrival);
    };
    Request* victim = running.front();
    for (Request* r = victim; r != nullptr; r = running.next(*r))
      if (rank(*victim) <= rank(*r)) victim = r;
    return *victim;
  }

  bool preempted_first_;
  VictimRule victim_;
  ByJob<Job> jobs_;
};

template <bool preempted_first>
std::unique_ptr<engine::QueueOrder> make_job_order(const OrderConfig& config) {
  return std::make_unique<JobOrder>(preempted_first, config);
}

}  // namespace

OrderEntry job_fcfs_order() { return {"job_fcfs", make_job_order<false>, {kVictim}}; }
OrderEntry cache_ttl_order() { return {"cache_ttl", make_job_order<true>, {kVictim}}; }

}  // namespace policies
