#pragma once
#include "workers/policies/config.hpp"

namespace policies {

/// A turn with a running tool, and the other running requests. Waste is measured in token-seconds
/// of KV memory that is held without computing. Multiplied by the bytes of a token it is the
/// byte-seconds of InferCept (Abhyankar et al., ICML 2024).
struct Interception {
  double context_tok = 0;  // of the turn
  double other_tok = 0;    // of all other running requests together
  int chunk_tok = 2048;    // most tokens that one step computes
  ReloadCost reload{};
  double swap_s_per_tok = 0;  // one way, over the link; 0: no swapping
};

/// The turn's memory is unused while the tool runs.
double waste_of_preserving(const Interception& turn, double gap_s);

/// The context is recomputed chunk by chunk: what is computed is held without use meanwhile, and
/// all other requests wait.
double waste_of_discarding(const Interception& turn);

/// Swapping out and in while all requests wait. Infinite without swapping.
double waste_of_swapping(const Interception& turn);

enum class GapAction { preserve, discard, swap };

/// The action with the least waste for a gap of this length; of equals, preserve before discard
/// before swap.
GapAction least_waste(const Interception& turn, double gap_s);

/// How long preserving wastes less than discarding in chunks. As a time to live it wastes at most
/// twice as much as the best hold, whatever the tool does (ski rental).
double break_even_s(const Interception& turn);

}  // namespace policies
