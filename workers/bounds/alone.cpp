#include "workers/bounds/alone.hpp"

#include <algorithm>

namespace bounds {
namespace {

using backends::CostModel;
using backends::StepShape;

double seconds(const CostModel& cost, const StepShape& step) {
  return engine::to_seconds(cost.step_time(step));
}

/// A step that generates a token behind a context of `context` tokens: a decode, or the last of a
/// prefill that a preemption made necessary, which computes one token at least.
double token_seconds(const CostModel& cost, int context) {
  StepShape step;
  step.tokens = step.sequences = step.logits_rows = step.max_tokens_of_one_request = 1;
  StepShape again = step;
  step.decodes = 1;
  step.decode_context_tokens = context;
  again.prefill_tokens = 1;
  again.prefill_kv_tokens = context;
  again.prefill_context_products = context;
  return std::min(seconds(cost, step), seconds(cost, again));
}

/// At least `steps` steps prefill the fresh tokens, and the last samples the first token. More
/// steps take longer, since step_time() is subadditive, and none are faster than equal ones, since
/// it is convex. Counts of the mean step are rounded down.
double prefill_seconds(const TurnNeed& turn, const CostModel& cost, int steps) {
  StepShape mean;
  mean.tokens = mean.prefill_tokens = mean.max_tokens_of_one_request = turn.fresh / steps;
  mean.sequences = 1;
  mean.prefill_context_products = fresh_pairs(turn) / steps;
  mean.prefill_kv_tokens = static_cast<std::int64_t>(prefill_reads(turn, steps) / steps);
  const double without_sample = (steps - 1) * seconds(cost, mean);
  mean.logits_rows = 1;
  const double rounding = steps == 1 ? 0 : steps * 1e-9;  // of steps to nanoseconds
  return without_sample + seconds(cost, mean) - rounding;
}

}  // namespace

double fresh_pairs(const TurnNeed& turn) {
  return turn.fresh * (turn.prompt - turn.fresh + (turn.fresh + 1) / 2.0);
}

double prefill_reads(const TurnNeed& turn, int prefill_steps) {
  return turn.prompt + (prefill_steps - 1.0) * (turn.prompt - turn.fresh);
}

TurnAlone turn_alone(const TurnNeed& turn, const CostModel& cost, int step_tokens) {
  TurnAlone alone;
  if (step_tokens > 0) alone.prefill_steps = (turn.fresh + step_tokens - 1) / step_tokens;
  alone.prefill_s = prefill_seconds(turn, cost, alone.prefill_steps);
  for (int token = 1; token < turn.output; ++token)
    alone.decode_s += token_seconds(cost, turn.prompt + token);
  return alone;
}

double least_gap(const TurnNeed& turn, double alone_s) {
  if (turn.since_start_s) return std::max(0.0, *turn.since_start_s - alone_s);
  return turn.gap_s;
}

}  // namespace bounds
