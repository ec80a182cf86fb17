#include "workers/policies/waste.hpp"

#include <algorithm>
#include <limits>

namespace policies {

double waste_of_preserving(const Interception& turn, double gap_s) {
  return gap_s * turn.context_tok;
}

double waste_of_discarding(const Interception& turn) {
  double waste = 0, done_tok = 0, done_s = 0;
  while (done_tok < turn.context_tok) {
    done_tok = std::min(done_tok + turn.chunk_tok, turn.context_tok);
    const double until_s = turn.reload.seconds(done_tok);
    waste += (until_s - done_s) * (done_tok + turn.other_tok);
    done_s = until_s;
  }
  return waste;
}

double waste_of_swapping(const Interception& turn) {
  if (turn.swap_s_per_tok <= 0) return std::numeric_limits<double>::infinity();
  return 2 * turn.swap_s_per_tok * turn.context_tok * (turn.context_tok + turn.other_tok);
}

GapAction least_waste(const Interception& turn, double gap_s) {
  const double preserve = waste_of_preserving(turn, gap_s), discard = waste_of_discarding(turn),
               swap = waste_of_swapping(turn);
  if (preserve <= std::min(discard, swap)) return GapAction::preserve;
  return discard <= swap ? GapAction::discard : GapAction::swap;
}

double break_even_s(const Interception& turn) {
  return turn.context_tok > 0 ? waste_of_discarding(turn) / turn.context_tok : 0;
}

}  // namespace policies
