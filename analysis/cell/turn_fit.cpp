#include "analysis/cell/turn_fit.hpp"

#include <array>
#include <cmath>

#include "sweeps/tables/schema.hpp"

namespace analysis {

void TurnFit::add(const sweep::Table& turns) {
  const auto &prompt = turns.values<std::int32_t>("prompt_tok"),
             &on_gpu = turns.values<std::int32_t>("cached_gpu_tok"),
             &on_host = turns.values<std::int32_t>("cached_host_tok");
  const auto &ttft = turns.values<double>("ttft_s"), &tpot = turns.values<double>("tpot_s");
  for (std::size_t i = 0; i < prompt.size(); ++i) {
    const double found = on_gpu[i] + on_host[i];
    ttft_.add(std::array{prompt[i] - found, found}, ttft[i]);
    if (std::isnan(tpot[i])) continue;
    tpot_sum_s_ += tpot[i];
    ++tpot_turns_;
  }
}

std::string TurnFit::caveat() const {
  const std::optional<Plane> plane = ttft();
  if (!plane || plane->r_squared >= kLeastR2) return {};
  return "do not use these slopes: prompt tokens explain less than half of the variance of ttft "
         "(R2 "
         "below 0.5), and the rest is waiting in the server's queue or other load on its machine; "
         "fit cells with a lower jps on an idle machine";
}

double TurnFit::tpot_s() const {
  return tpot_turns_ > 0 ? tpot_sum_s_ / static_cast<double>(tpot_turns_) : sweep::kNotObserved;
}

}  // namespace analysis
