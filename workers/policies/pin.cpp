// Continuum's rule: a finished turn's KV stays pinned for a fixed time to live when its tool is
// expected to be fast. A tool that was never seen counts as fast; without a readable tool call, or
// on a job's last turn, nothing is kept.
#include <memory>
#include <vector>

#include "workers/engine/retention.hpp"
#include "workers/policies/config.hpp"
#include "workers/policies/tool_mean.hpp"

namespace policies {
namespace {

using engine::GapDecision;
using engine::KvReason;
using engine::Nanos;
using engine::Request;
using engine::ToolId;

class Pin final : public engine::RetentionPolicy {
 public:
  explicit Pin(const PolicyConfig& config)
      : ttl_(config.ttl), threshold_(config.threshold), rules_(config.pins) {}

  engine::PinRules pin_rules() const override { return rules_; }

  void on_arrival(const Request& request) override {
    ToolCall& call = call_of(request);
    if (call.tool != ToolId::none) durations_.add(call.tool, request.spec.arrival - call.started);
    call.tool = ToolId::none;
  }

  GapDecision on_turn_finish(const Request& request, Nanos now) override {
    if (request.spec.last_turn) return {.reason = KvReason::last_turn};
    const ToolId tool = request.spec.tool;
    if (tool == ToolId::none) return {.reason = KvReason::no_tool};
    call_of(request) = {tool, now};
    const auto mean = durations_.mean(tool);
    if (mean.value_or(Nanos{0}) > threshold_) return {.reason = KvReason::slow_tool};
    // Below 10 ms a pin is over before it could serve anyone.
    if (ttl_ < std::chrono::milliseconds{10}) return {};
    return {true, mean ? KvReason::known_tool : KvReason::unseen_tool, now + ttl_};
  }

 private:
  struct ToolCall {
    ToolId tool = ToolId::none;
    Nanos started{0};
  };
  ToolCall& call_of(const Request& request) {
    const auto job = engine::index(request.spec.job);
    if (job >= calls_.size()) calls_.resize(job + 1);
    return calls_[job];
  }

  Nanos ttl_, threshold_;
  engine::PinRules rules_;
  ToolMean durations_;
  std::vector<ToolCall> calls_;  // by job: the tool that runs in its gap
};

}  // namespace

std::unique_ptr<engine::RetentionPolicy> make_pin_retention(const PolicyConfig& config) {
  return std::make_unique<Pin>(config);
}

}  // namespace policies
