// The program of which most turns have ended goes first, since it is likely to be near its end and
// has most KV to lose: by completed turns of the program, subagents' among them, then by the job's
// arrival. The victim is the running request that would be served last.
#include <tuple>

#include "workers/policies/estimators/by_id.hpp"
#include "workers/policies/order/config.hpp"
#include "workers/policies/order/ranked_queue.hpp"

namespace policies {
namespace {

using engine::Nanos;
using engine::Request;

class Progress final : public RankedOrder<Progress> {
 public:
  void push(Request& request) override {
    rank_[request.spec.job] = ended_[root_of(request)];
    RankedOrder::push(request);
  }
  void on_turn_end(const Request& request, Nanos) override {
    if (request.status == engine::RequestStatus::finished) ++ended_[root_of(request)];
  }

  std::tuple<int, Nanos, Nanos, engine::RequestId> rank(const Request& r) const {
    return {-rank_[r.spec.job], r.spec.job_arrival, r.spec.arrival, r.id};
  }

 private:
  static engine::JobId root_of(const Request& r) { return r.spec.subagent_of.value_or(r.spec.job); }

  ByJob<int> ended_;  // of a root: turns of the program that have ended
  ByJob<int> rank_;   // of a job's turn in the engine: those that had ended when it came
};

}  // namespace

OrderEntry progress_order() { return {"progress", OrderEntry::makes<Progress>}; }

}  // namespace policies
