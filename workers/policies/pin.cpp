// Pins the KV of a finished turn for a time to live, which a rule chooses from the forecast of the
// turn's tool. Pins nothing after a job's last turn, or when there is neither a readable tool call
// nor a forecast.
#include <memory>

#include "workers/policies/estimators/tool_calls.hpp"
#include "workers/policies/factory.hpp"

namespace policies {
namespace {

using engine::GapDecision;
using engine::KvReason;
using engine::Nanos;
using engine::Request;

class Pin final : public engine::RetentionPolicy {
 public:
  explicit Pin(const PolicyConfig& config)
      : rules_(config.pins),
        calls_(make_estimator(config.estimator)),
        ttl_(make_ttl_rule(config)) {}

  engine::PinRules pin_rules() const override { return rules_; }

  void on_arrival(const Request& request) override {
    calls_.on_arrival(request);
    ttl_->on_arrival(request);
  }

  GapDecision on_turn_finish(const Request& request, Nanos now) override {
    ttl_->on_turn_finish(request, now);
    if (request.spec.last_turn) return {.reason = KvReason::last_turn};
    const auto forecast = calls_.start(request, now);
    if (!forecast && request.spec.tool == engine::ToolId::none)
      return {.reason = KvReason::no_tool};
    const Hold hold = ttl_->decide(request, now, forecast);
    if (hold.ttl == Nanos{0}) return {.reason = hold.reason};
    // A pin of less than 10 ms ends before the next turn could use it.
    if (hold.ttl < std::chrono::milliseconds{10}) return {};
    return {true, hold.reason, now + hold.ttl};
  }

 private:
  engine::PinRules rules_;
  ToolCalls calls_;
  std::unique_ptr<TtlRule> ttl_;
};

}  // namespace

RetentionEntry pin_retention() { return {"pin", RetentionEntry::makes<Pin>}; }

}  // namespace policies
