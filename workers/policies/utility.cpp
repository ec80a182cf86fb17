// The rule of the cache-TTL paper (arXiv:2511.02230, versions 2 to 6): the time to live t that
// maximizes Pr[tool returns within t] * (T * eta + R) - t. T is the mean queue wait of turns with
// evicted KV, eta tells how well a job's finished turns predict its remaining ones, and R is the
// time to recompute the KV. While the forecast is only a prior, eta counts as 1.
#include "workers/policies/estimators/memoryfulness.hpp"
#include "workers/policies/queue_wait.hpp"
#include "workers/policies/ttl_rule.hpp"

namespace policies {
namespace {

using engine::KvReason;
using engine::Nanos;
using engine::Request;

constexpr Parameter kHalfLife = {
    .name = "wait_half_life_s",
    .least = 0,
    .most = 1e6,
    .fallback = 0,
    .unit = "s",
    .says =
        "Half-life with which past queue times fade from the mean that the rule weighs; "
        "0: they do not fade."};

class Utility final : public TtlRule {
 public:
  explicit Utility(const PolicyConfig& config)
      : reload_(config.reload.known_for("policy.ttl_rule \"utility\"")),
        block_size_(config.block_size),
        wait_(engine::from_seconds(value_of(kHalfLife, config.parameters))) {}

  void on_turn_finish(const Request& request, Nanos now) override {
    // Every turn recomputes less than a block, the part that never filled a whole block.
    if (request.recomputed_tokens >= block_size_) wait_.add(request.time.queue, now);
    if (request.spec.last_turn) memoryfulness_.on_job_end(request.spec.turn + 1);
  }

  Hold decide(const Request& request, Nanos now,
              const std::optional<GapForecast>& forecast) override {
    const GapForecast gap =
        forecast.value_or(GapForecast::exponential(std::chrono::seconds{1}, Evidence::prior));
    const double eta = gap.evidence() == Evidence::prior ? 1 : memoryfulness_.value();
    const double benefit_s = wait_.mean_s(now) * eta + reload_.seconds(request.num_tokens());
    const Nanos ttl = gap.best_hold(benefit_s);
    return {ttl, gap.evidence() == Evidence::prior ? KvReason::cold_start : KvReason::utility};
  }

 private:
  ReloadCost reload_;
  int block_size_;
  QueueWait wait_;
  Memoryfulness memoryfulness_;
};

}  // namespace

TtlEntry utility_ttl() { return {"utility", TtlEntry::makes<Utility>, {kHalfLife}}; }

}  // namespace policies
