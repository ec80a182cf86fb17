// Prefetch by a forecast of tool times: KV is restored when having it on the GPU saves more than
// keeping it there costs. Savings and costs are both request-seconds of delay.
//
// A prefetch saves the time to recompute the missing tokens, counted once for the turn itself and
// once for each running request. It costs GPU memory until the turn is served, at the price that
// waiting requests put on it; host memory for the same time, at the worth of its least valuable
// content; and the time that other loads wait on the link. Each scoring from S1 to S5 counts one
// term more.
#include <algorithm>
#include <memory>

#include "workers/engine/prefetch/policy.hpp"
#include "workers/policies/estimators/tool_calls.hpp"
#include "workers/policies/factory.hpp"

namespace policies {
namespace {

using engine::AwaitedKv;
using engine::JobId;
using engine::Nanos;
using engine::Request;
using engine::Scarcity;
using engine::to_seconds;

enum class Scoring : std::uint8_t {
  saved_tokens,  // S1
  others_run,    // S2: plus the wait of running requests
  gpu_memory,    // S3: less the price of GPU memory
  host_memory,   // S4: less the price of host memory
  link,          // S5: less the delay of other loads
};

constexpr const char* kScorings[] = {"S1", "S2", "S3", "S4", "S5"};

Scoring scoring_of(const std::string& name) {
  const auto found = std::ranges::find(kScorings, name);
  if (found == std::end(kScorings)) reject_name("scoring", name, scoring_names());
  return static_cast<Scoring>(found - std::begin(kScorings));
}

class Predictive final : public engine::PrefetchPolicy {
 public:
  Predictive(const PolicyConfig& config, std::unique_ptr<GapEstimator> estimator)
      : scoring_(scoring_of(config.scoring)),
        reload_(config.reload),
        calls_(std::move(estimator)) {}

  void on_arrival(const Request& request) override { calls_.on_arrival(request); }
  void on_turn_finish(const Request& request, Nanos now) override { calls_.start(request, now); }

  engine::LoadTime load_time(JobId job, bool arrived) const override {
    return arrived || calls_.forecast(job) ? engine::LoadTime::in_time
                                           : engine::LoadTime::on_demand;
  }

  Nanos returns_by(JobId job, double probability, Nanos now) const override {
    return calls_.returns_by(job, probability, now);
  }

  double recompute_s(int context_tokens, int missing_tokens) const override {
    return reload_.seconds_of(missing_tokens, context_tokens);
  }

  double score(const AwaitedKv& kv, const Scarcity& scarce) const override {
    double worth = recompute_s(kv.context_tokens, kv.missing_tokens) - to_seconds(kv.late);
    if (scoring_ >= Scoring::others_run)
      worth += reload_.linear_s * kv.missing_tokens * scarce.running;
    if (scoring_ >= Scoring::gpu_memory)
      worth -= scarce.vram_price * kv.missing_tokens * to_seconds(kv.held);
    if (scoring_ >= Scoring::host_memory)
      worth -= scarce.dram_price * kv.missing_tokens * to_seconds(kv.until_use);
    if (scoring_ >= Scoring::link) worth -= to_seconds(kv.load_time) * kv.loads_delayed;
    return worth;
  }

  bool ranks_host_tier() const override { return scoring_ >= Scoring::host_memory; }

 private:
  Scoring scoring_;
  ReloadCost reload_;
  ToolCalls calls_;
};

/// Without a forecast: KV is loaded back as soon as blocks are free that no job with a running tool
/// has KV in, from the moment that its tool starts (at_pause, vLLM's RFC 57103) or that its next
/// turn arrives (at_enqueue). What is loaded for a running tool holds no blocks: it is evicted like
/// all other KV, and loaded again as long as the prefetcher allows.
class WithRoom final : public engine::PrefetchPolicy {
 public:
  WithRoom(const ReloadCost& reload, bool while_away) : reload_(reload), while_away_(while_away) {}

  void on_arrival(const Request&) override {}
  void on_turn_finish(const Request&, Nanos) override {}
  engine::LoadTime load_time(JobId, bool arrived) const override {
    return arrived || while_away_ ? engine::LoadTime::with_room : engine::LoadTime::on_demand;
  }
  /// All as late as each other: of jobs with running tools the one that paused first is evicted
  /// first, and none for the sake of another.
  Nanos returns_by(JobId, double, Nanos now) const override { return now + std::chrono::hours{1}; }
  double recompute_s(int context, int missing) const override {
    return reload_.seconds_of(missing, context);
  }
  double score(const AwaitedKv& kv, const Scarcity&) const override {
    return recompute_s(kv.context_tokens, kv.missing_tokens);
  }
  bool ranks_host_tier() const override { return false; }

 private:
  ReloadCost reload_;
  bool while_away_;
};

}  // namespace

std::vector<std::string> scoring_names() { return {std::begin(kScorings), std::end(kScorings)}; }

std::vector<std::string> prefetch_names() {
  std::vector<std::string> names = estimator_names();
  names.insert(names.begin(), {"none", "at_pause", "at_enqueue"});
  return names;
}

std::unique_ptr<engine::PrefetchPolicy> make_prefetch(const PolicyConfig& config) {
  if (config.prefetch == "none") return nullptr;
  const auto names = prefetch_names();
  if (std::ranges::find(names, config.prefetch) == names.end())
    reject_name("prefetch", config.prefetch, names);
  config.reload.known_for("policy.prefetch");
  if (config.prefetch == "at_pause" || config.prefetch == "at_enqueue")
    return std::make_unique<WithRoom>(config.reload, config.prefetch == "at_pause");
  EstimatorConfig estimator = config.estimator;
  estimator.name = config.prefetch;
  return std::make_unique<Predictive>(config, make_estimator(estimator));
}

}  // namespace policies
