#include "workers/engine/tiers/swap_rates.hpp"

namespace engine {

bool SwapRates::swap_is_cheaper(int blocks, int queued, int tokens) const {
  if (!copies_.known() || !knows_prompts()) return true;
  const double out_s = copies_.at(queued + blocks), in_s = copies_.at(blocks);
  return out_s + in_s < prompt_s(tokens);
}

}  // namespace engine
