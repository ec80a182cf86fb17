// Keeps a turn's KV until keeping it has cost as much as recomputing it would. Whatever the tool
// does, this wastes at most twice as much as the best choice with a known gap. It needs no
// forecast.
#include "workers/policies/running_context.hpp"
#include "workers/policies/ttl_rule.hpp"

namespace policies {
namespace {

using engine::Nanos;
using engine::Request;

class SkiRental final : public TtlRule {
 public:
  explicit SkiRental(const PolicyConfig& config)
      : running_(config, "policy.ttl_rule \"ski_rental\"") {}

  void on_arrival(const Request& request) override { running_.on_arrival(request); }

  Hold decide(const Request& request, Nanos, const std::optional<GapForecast>&) override {
    const double hold_s = break_even_s(running_.interception(request));
    return {engine::from_seconds(hold_s), engine::KvReason::rent};
  }

 private:
  RunningContext running_;
};

}  // namespace

TtlEntry ski_rental_ttl() { return {"ski_rental", TtlEntry::makes<SkiRental>}; }

}  // namespace policies
