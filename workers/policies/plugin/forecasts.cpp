// Forecasts of tools, and what is loaded ahead of its turn, as a plugin decides.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "workers/policies/plugin/factory.hpp"
#include "workers/policies/plugin/plugin.hpp"

namespace policies {
namespace {

using engine::JobId;
using engine::Nanos;
using engine::Request;

std::string name_of(JobId job) { return "job " + std::to_string(index(job)); }

kvsweep_call as_told(const GapCall& call) {
  return {index(call.job), call.turn, static_cast<std::int32_t>(call.tool)};
}

class PluginEstimator final : public GapEstimator {
 public:
  explicit PluginEstimator(std::shared_ptr<Plugin> plugin) : plugin_(std::move(plugin)) {}

  void learn(const GapCall& call, Nanos duration) override {
    const kvsweep_call told = as_told(call);
    plugin_->tell("learn_tool", plugin_->table().learn_tool, &told, duration.count());
  }
  std::optional<GapForecast> forecast(const GapCall& call) const override {
    const kvsweep_call asked = as_told(call);
    kvsweep_forecast told{};
    if (plugin_->ask("forecast_tool", plugin_->table().forecast_tool, &asked, &told) == 0)
      return std::nullopt;
    if (told.expected_ns <= 0 || !(told.log_spread >= 0 && std::isfinite(told.log_spread)))
      reject_answer("expects the tool after turn " + std::to_string(call.turn) + " of " +
                    name_of(call.job) + " to run for " + std::to_string(told.expected_ns) +
                    " ns with a spread of " + std::to_string(told.log_spread) +
                    "; allowed: more than 0, and 0 or more");
    return GapForecast::around(Nanos{told.expected_ns}, told.log_spread, Evidence::tool);
  }

 private:
  std::shared_ptr<Plugin> plugin_;
};

class PluginPrefetch final : public engine::PrefetchPolicy {
 public:
  PluginPrefetch(std::shared_ptr<Plugin> plugin, RecomputeTime recompute_s)
      : plugin_(std::move(plugin)),
        table_(plugin_->table()),
        recompute_s_(std::move(recompute_s)) {}

  void on_arrival(const Request& request) override { plugin_->arrived(request); }
  void on_turn_finish(const Request& request, Nanos now) override { plugin_->ended(request, now); }
  engine::LoadTime load_time(JobId job, bool arrived) const override {
    const bool predicted = arrived || table_.can_predict == nullptr ||
                           plugin_->ask("can_predict", table_.can_predict, index(job)) != 0;
    return predicted ? engine::LoadTime::in_time : engine::LoadTime::on_demand;
  }
  Nanos returns_by(JobId job, double probability, Nanos now) const override {
    const std::int64_t at =
        plugin_->ask("returns_by", table_.returns_by, index(job), probability, now.count());
    if (at < now.count())
      reject_answer("expects " + name_of(job) + " back at " + std::to_string(at) +
                    " ns, which is earlier than now, " + std::to_string(now.count()) + " ns");
    return Nanos{std::min(at, kLatest)};
  }
  double recompute_s(int context_tokens, int missing_tokens) const override {
    return recompute_s_(context_tokens, missing_tokens);
  }
  double score(const engine::AwaitedKv& kv, const engine::Scarcity& scarcity) const override {
    const kvsweep_awaited told{.until_use_ns = kv.until_use.count(),
                               .held_ns = kv.held.count(),
                               .load_time_ns = kv.load_time.count(),
                               .late_ns = kv.late.count(),
                               .recompute_s = recompute_s_(kv.context_tokens, kv.missing_tokens),
                               .vram_price = scarcity.vram_price,
                               .dram_price = scarcity.dram_price,
                               .context_tokens = kv.context_tokens,
                               .missing_tokens = kv.missing_tokens,
                               .loads_delayed = kv.loads_delayed,
                               .running = scarcity.running};
    const double score = plugin_->ask("score_prefetch", table_.score_prefetch, &told);
    if (std::isnan(score)) reject_answer("gives a prefetch no number as its score (NaN)");
    return score;
  }
  bool ranks_host_tier() const override { return table_.prefetch_ranks_host != 0; }

 private:
  /// Far enough from the end of time for sums: 146 years.
  static constexpr std::int64_t kLatest = std::numeric_limits<std::int64_t>::max() / 2;

  std::shared_ptr<Plugin> plugin_;
  const kvsweep_policy& table_;
  RecomputeTime recompute_s_;
};

}  // namespace

std::unique_ptr<GapEstimator> make_plugin_estimator(std::shared_ptr<Plugin> plugin) {
  plugin->require("estimator");
  return std::make_unique<PluginEstimator>(std::move(plugin));
}

std::unique_ptr<engine::PrefetchPolicy> make_plugin_prefetch(std::shared_ptr<Plugin> plugin,
                                                             RecomputeTime recompute_s) {
  plugin->require("prefetch");
  return std::make_unique<PluginPrefetch>(std::move(plugin), std::move(recompute_s));
}

}  // namespace policies
