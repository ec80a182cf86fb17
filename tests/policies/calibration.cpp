#include "tests/policies/calibration.hpp"

#include <cmath>
#include <cstdint>
#include <map>

#include "workers/policies/estimators/config.hpp"

namespace policies {
namespace {

using engine::Nanos;
using engine::ToolId;

/// Sums over the forecasts of one row.
struct Score {
  int calls = 0, silent = 0, inside[3] = {0, 0, 0};
  double pinball_s = 0, log_spread = 0;
};

constexpr double kCentral[] = {0.50, 0.80, 0.95};

double pinball_loss(const GapForecast& forecast, double seconds) {
  constexpr int kQuantiles = 19;
  double loss = 0;
  for (int i = 1; i <= kQuantiles; ++i) {
    const double q = i / (kQuantiles + 1.0);
    const double over = seconds - engine::to_seconds(forecast.quantile(q));
    loss += over >= 0 ? q * over : (q - 1) * over;
  }
  return loss / kQuantiles;
}

void add(Score& score, const std::optional<GapForecast>& forecast, double seconds) {
  ++score.calls;
  if (!forecast) ++score.silent;
  // A decision needs an assumption even without a forecast.
  const GapForecast assumed =
      forecast.value_or(GapForecast::exponential(std::chrono::seconds{1}, Evidence::prior));
  score.pinball_s += pinball_loss(assumed, seconds);
  for (int i = 0; i < 3; ++i) {
    const double low = engine::to_seconds(assumed.quantile((1 - kCentral[i]) / 2)),
                 high = engine::to_seconds(assumed.quantile((1 + kCentral[i]) / 2));
    if (low <= seconds && seconds <= high) ++score.inside[i];
    if (i == 1) score.log_spread += std::log(high / low);
  }
}

Calibration row_of(const std::string& estimator, const std::string& tool, const Score& score) {
  const auto per_call = [&](double sum) {
    return score.calls > 0 ? sum / score.calls : std::nan("");
  };
  return {.estimator = estimator,
          .tool = tool,
          .calls = score.calls,
          .silent = score.silent,
          .pinball_s = per_call(score.pinball_s),
          .within50 = per_call(score.inside[0]),
          .within80 = per_call(score.inside[1]),
          .within95 = per_call(score.inside[2]),
          .spread80 = std::exp(per_call(score.log_spread))};
}

std::map<std::string, ToolId> tool_ids(std::span<const TimedCall> calls) {
  std::map<std::string, ToolId> ids;
  for (const TimedCall& call : calls)
    ids.emplace(call.tool, ToolId{static_cast<std::int32_t>(ids.size())});
  return ids;
}

}  // namespace

/// Hashes the name with FNV-1a and takes the upper bits as a fraction.
bool is_held_out(const std::string& job, double share) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : job) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  hash = (hash ^ (hash >> 32)) * 0xd6e8feb86659fd93ULL;
  return static_cast<double>(hash >> 11) * 0x1.0p-53 < share;
}

std::vector<Calibration> calibrate(std::span<const TimedCall> calls,
                                   const EstimatorConfig& estimator,
                                   const CalibrationConfig& config) {
  const auto ids = tool_ids(calls);
  const auto fitted = make_estimator(estimator);
  for (const TimedCall& call : calls) {
    if (!is_held_out(call.job, config.held_out))
      fitted->learn({.tool = ids.at(call.tool)}, engine::from_seconds(call.seconds));
  }
  Score all;
  std::map<std::string, Score> by_tool;
  GapCall asked;  // injected errors depend on the turn
  for (const TimedCall& call : calls) {
    if (!is_held_out(call.job, config.held_out)) continue;
    asked.tool = ids.at(call.tool);
    ++asked.turn;
    const auto forecast = fitted->forecast(asked);
    add(all, forecast, call.seconds);
    add(by_tool[call.tool], forecast, call.seconds);
  }
  std::vector<Calibration> rows = {row_of(estimator.name, "all", all)};
  for (const auto& [tool, score] : by_tool)
    if (score.calls >= config.fewest_calls) rows.push_back(row_of(estimator.name, tool, score));
  return rows;
}

}  // namespace policies
