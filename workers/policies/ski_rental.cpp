// Keeps a turn's KV until keeping it has cost as much as recomputing it would. Whatever the tool
// does, this wastes at most twice as much as the best choice with a known gap. It needs no
// forecast.
#include "workers/policies/running_context.hpp"
#include "workers/policies/ttl_rule.hpp"
#include "workers/policies/waste.hpp"

namespace policies {
namespace {

using engine::Nanos;
using engine::Request;

class SkiRental final : public TtlRule {
 public:
  explicit SkiRental(const PolicyConfig& config)
      : chunk_tok_(config.max_num_batched_tokens),
        reload_(config.reload.known_for("policy.ttl_rule \"ski_rental\"")) {}

  void on_arrival(const Request& request) override { running_.on_arrival(request); }

  Hold decide(const Request& request, Nanos, const std::optional<GapForecast>&) override {
    const Interception turn{.context_tok = static_cast<double>(request.num_tokens()),
                            .other_tok = running_.tokens_beside(request),
                            .chunk_tok = chunk_tok_,
                            .reload = reload_};
    return {engine::from_seconds(break_even_s(turn)), engine::KvReason::rent};
  }

 private:
  int chunk_tok_;
  ReloadCost reload_;
  RunningContext running_;
};

}  // namespace

TtlEntry ski_rental_ttl() { return {"ski_rental", TtlEntry::makes<SkiRental>}; }

}  // namespace policies
