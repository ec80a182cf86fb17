// Private to this room.
#pragma once
#include "workers/backends/sim/cost_model.hpp"
#include "workers/bounds/needs.hpp"

namespace bounds {

/// The steps of a turn that has the GPU to itself.
struct TurnAlone {
  double prefill_s = 0;
  double decode_s = 0;
  int prefill_steps = 1;

  double seconds() const { return prefill_s + decode_s; }
};

/// `step_tokens` of 0: no limit.
TurnAlone turn_alone(const TurnNeed& turn, const backends::CostModel& cost, int step_tokens);

/// Query-key pairs of the fresh tokens.
double fresh_pairs(const TurnNeed& turn);
/// KV tokens that the prefill steps read at least: the last all of the prompt, the others what
/// precedes the fresh tokens.
double prefill_reads(const TurnNeed& turn, int prefill_steps);
/// From the end of the turn to the start of the next.
double least_gap(const TurnNeed& turn, double alone_s);

}  // namespace bounds
