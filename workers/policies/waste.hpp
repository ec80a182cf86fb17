#pragma once
#include "workers/policies/config.hpp"

namespace policies {

/// A turn whose tool runs, beside what else runs. Waste is counted in token-seconds of KV memory
/// that is held and computes nothing; times the bytes of a token it is the byte-seconds of
/// InferCept (Abhyankar et al., ICML 2024).
struct Interception {
  double context_tok = 0;  // of the turn
  double other_tok = 0;    // of all other running requests together
  int chunk_tok = 2048;    // most tokens that one step computes
  ReloadCost reload{};
  double swap_s_per_tok = 0;  // one way, over the link; 0: there is nothing to swap to
};

/// Its memory stays unused for as long as the tool runs.
double waste_of_preserving(const Interception& turn, double gap_s);

/// All is recomputed in one go: its own memory fills without use meanwhile, and all other requests
/// wait.
double waste_of_discarding(const Interception& turn);

/// As above, chunk by chunk: its own memory grows with the chunks. What discarding costs here.
double waste_of_discarding_in_chunks(const Interception& turn);

/// Out and in again while all requests wait. Infinite where there is nothing to swap to.
double waste_of_swapping(const Interception& turn);

enum class GapAction { preserve, discard, swap };

/// The least waste for a gap of this length; preserving before discarding before swapping among
/// equals.
GapAction least_waste(const Interception& turn, double gap_s);

/// How long preserving wastes less than discarding in chunks: the time to live that is never worse
/// than twice the best hold, whatever the tool does (ski rental).
double break_even_s(const Interception& turn);

}  // namespace policies
