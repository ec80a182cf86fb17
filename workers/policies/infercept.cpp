// InferCept (Abhyankar et al., ICML 2024): preserves a turn's KV through its gap, discards it, or
// swaps it to the host, whichever wastes the least memory over time. Preserved KV is discarded when
// preserving it has wasted as much as recomputing it would, which bounds gaps that last longer than
// expected and gaps without a forecast.
#include "workers/policies/config.hpp"
#include "workers/policies/estimators/tool_calls.hpp"
#include "workers/policies/running_context.hpp"

namespace policies {
namespace {

using engine::GapDecision;
using engine::KvReason;
using engine::Nanos;
using engine::Request;

class Infercept final : public engine::RetentionPolicy {
 public:
  explicit Infercept(const PolicyConfig& config)
      : rules_(config.pins),
        running_(config, "policy.retention \"infercept\""),
        calls_(make_estimator(config.estimator)) {}

  engine::PinRules pin_rules() const override { return rules_; }

  void on_arrival(const Request& request) override {
    calls_.on_arrival(request);
    running_.on_arrival(request);
  }

  GapDecision on_turn_finish(const Request& request, Nanos now) override {
    if (request.spec.last_turn) return {.reason = KvReason::last_turn};
    const auto forecast = calls_.start(request, now);
    const Interception turn = running_.interception(request);
    const double gap_s = forecast ? engine::to_seconds(forecast->expected()) : 0;
    const GapAction action = least_waste(turn, gap_s);
    if (action != GapAction::preserve)
      return {.reason = KvReason::waste, .swap = action == GapAction::swap};
    return {true, KvReason::rent, now + engine::from_seconds(break_even_s(turn))};
  }

 private:
  engine::PinRules rules_;
  RunningContext running_;
  ToolCalls calls_;
};

}  // namespace

RetentionEntry infercept_retention() { return {"infercept", RetentionEntry::makes<Infercept>}; }

}  // namespace policies
