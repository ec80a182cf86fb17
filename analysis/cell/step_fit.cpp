#include "analysis/cell/step_fit.hpp"

#include <array>
#include <cmath>
#include <unordered_map>

#include "sweeps/tables/schema.hpp"

namespace analysis {
namespace {

struct Work {
  double kv_tokens = 0, pairs = 0;
};

std::unordered_map<std::int64_t, Work> work_by_step(const sweep::Table& sched) {
  std::unordered_map<std::int64_t, Work> work;
  const auto& step = sched.values<std::int64_t>("step");
  const auto& tokens = sched.values<std::int32_t>("tokens");
  const auto& before = sched.values<std::int32_t>("computed_before");
  for (std::size_t i = 0; i < step.size(); ++i) {
    if (tokens[i] <= 0) continue;
    const double n = tokens[i], behind = before[i];
    Work& all = work[step[i]];
    all.kv_tokens += behind + n;
    if (tokens[i] > 1) all.pairs += n * (behind + (n + 1) / 2);
  }
  return work;
}

}  // namespace

void StepFit::add(const sweep::Table& steps, const sweep::Table& sched) {
  auto work = work_by_step(sched);
  const auto& step = steps.values<std::int64_t>("step");
  const auto& scheduled = steps.values<std::int32_t>("n_tok");
  const auto& duration = steps.values<double>("dur_s");
  const auto& stall = steps.values<double>("stall_s");
  for (std::size_t i = 0; i < step.size(); ++i) {
    if (scheduled[i] <= 0) continue;
    const double seconds = duration[i] - (std::isnan(stall[i]) ? 0 : stall[i]);
    const Work& all = work[step[i]];
    planes_.add(
        std::array<double, count>{static_cast<double>(scheduled[i]), all.kv_tokens, all.pairs},
        seconds);
  }
}

}  // namespace analysis
