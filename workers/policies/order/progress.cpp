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

class Progress final : public RankedOrder<Progress> {
 public:
  void push(Request& request) override {
    const std::size_t job = engine::index(request.spec.job), root = root_of(request);
    const std::size_t jobs = std::max(job, root) + 1;
    if (jobs > ended_.size()) {
      ended_.resize(jobs);
      rank_.resize(jobs);
    }
    rank_[job] = ended_[root];
    RankedOrder::push(request);
  }
  void on_turn_end(const Request& request, Nanos) override {
    if (request.status == engine::RequestStatus::finished) ++ended_[root_of(request)];
  }

  std::tuple<int, Nanos, Nanos, engine::RequestId> rank(const Request& r) const {
    return {-rank_[engine::index(r.spec.job)], r.spec.job_arrival, r.spec.arrival, r.id};
  }

 private:
  static std::size_t root_of(const Request& r) {
    return engine::index(r.spec.subagent_of.value_or(r.spec.job));
  }

  std::vector<int> ended_;  // by root: turns of the program that have ended
  std::vector<int> rank_;   // by job: of its turn in the engine, those that had ended when it came
};

}  // namespace

std::unique_ptr<engine::QueueOrder> make_progress_order(const OrderConfig&) {
  return std::make_unique<Progress>();
}

}  // namespace policies
