// The program of which most turns have ended goes first, since it is likely to be near its end and
// has most KV to lose: by completed turns of the program, subagents' among them, then by the job's
// arrival. The victim is the running request that would be served last.
#include <algorithm>
#include <memory>
#include <tuple>
#include <vector>

#include "workers/policies/order/config.hpp"
#include "workers/policies/order/ranked_queue.hpp"

namespace policies {
namespace {

using engine::Nanos;
using engine::Request;

class Progress final : public engine::QueueOrder {
 public:
  void push(Request& request) override {
    const std::size_t job = engine::index(request.spec.job), root = root_of(request);
    const std::size_t jobs = std::max(job, root) + 1;
    if (jobs > ended_.size()) {
      ended_.resize(jobs);
      rank_.resize(jobs);
    }
    rank_[job] = ended_[root];
    queue_.push(request);
  }
  void push_preempted(Request& request) override { queue_.push(request); }
  Request* front() const override { return queue_.front(); }
  void remove(Request& request) override { queue_.remove(request); }
  int size() const override { return queue_.size(); }
  std::vector<const Request*> in_service_order() const override {
    return queue_.in_service_order();
  }
  Request& choose_victim(const engine::RunningList& running) const override {
    return last_by(running, [this](const Request& r) { return rank(r); });
  }
  void on_turn_end(const Request& request, Nanos) override {
    if (request.status == engine::RequestStatus::finished) ++ended_[root_of(request)];
  }

 private:
  using Rank = std::tuple<int, Nanos, Nanos, engine::RequestId>;
  struct Before {
    const Progress* order;
    bool operator()(const Request& a, const Request& b) const {
      return order->rank(a) < order->rank(b);
    }
  };

  Rank rank(const Request& r) const {
    return {-rank_[engine::index(r.spec.job)], r.spec.job_arrival, r.spec.arrival, r.id};
  }
  static std::size_t root_of(const Request& r) {
    return engine::index(r.spec.subagent_of.value_or(r.spec.job));
  }

  std::vector<int> ended_;  // by root: turns of the program that have ended
  std::vector<int> rank_;   // by job: of its turn in the engine, those that had ended when it came
  RankedQueue<Before> queue_{Before{this}};
};

}  // namespace

std::unique_ptr<engine::QueueOrder> make_progress_order(const OrderConfig&) {
  return std::make_unique<Progress>();
}

}  // namespace policies
