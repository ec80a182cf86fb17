// The rule of Continuum's published code: a constant time to live for tools that are expected to be
// fast. A tool without recorded calls counts as fast.
#include "workers/policies/ttl_rule.hpp"

namespace policies {
namespace {

using engine::KvReason;
using engine::Nanos;

constexpr Parameter kTtl = {.name = "ttl_s",
                            .least = 0,
                            .most = 1e6,
                            .fallback = 2,
                            .unit = "s",
                            .says = "Time to live of a pin."};
constexpr Parameter kThreshold = {
    .name = "threshold_s",
    .least = 0,
    .most = 1e6,
    .fallback = 2,
    .unit = "s",
    .says = "Only turns whose tool is expected to take at most this long are pinned."};

class Fixed final : public TtlRule {
 public:
  explicit Fixed(const PolicyConfig& config)
      : ttl_(engine::from_seconds(value_of(kTtl, config.parameters))),
        threshold_(engine::from_seconds(value_of(kThreshold, config.parameters))) {}

  Hold decide(const engine::Request&, Nanos, const std::optional<GapForecast>& forecast) override {
    if (forecast && forecast->expected() > threshold_) return {Nanos{0}, KvReason::slow_tool};
    return {ttl_, forecast ? KvReason::known_tool : KvReason::unseen_tool};
  }

 private:
  Nanos ttl_, threshold_;
};

}  // namespace

TtlEntry fixed_ttl() { return {"fixed", TtlEntry::makes<Fixed>, {kTtl, kThreshold}}; }

}  // namespace policies
