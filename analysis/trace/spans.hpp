#pragma once
#include <cstdint>
#include <vector>

#include "sweeps/tables/result.hpp"

namespace analysis {

/// A range of consecutive steps in which a turn had the same number of tokens in every batch,
/// mostly decodes. In each of `count` steps from row `first` of /steps on, `tokens` of the turn
/// were computed, starting after `before` computed ones. Only steps with kind `running` are
/// combined.
struct TurnShare {
  std::int32_t turn = 0;  // row of /turns
  sweep::SchedKind kind = sweep::SchedKind::running;
  std::int32_t first = 0, count = 0;
  std::int32_t tokens = 0, before = 0;
};

/// A range of steps in which a turn was running, or waiting: rows of /steps, both ends inclusive.
struct TurnStay {
  std::int32_t turn = 0;  // row of /turns
  bool running = false;
  std::int32_t first = 0, last = 0;
};

/// /sched as ranges of steps, and the state of each request in every step. These are far fewer
/// rows, and the rows of any step follow from them. The state is that of /steps: after admission
/// and preemption, before execution.
struct TurnSpans {
  std::vector<TurnShare> shares;  // in the order of their first steps
  std::vector<TurnStay> stays;
};

/// Throws std::logic_error when the tables contradict each other.
TurnSpans turn_spans(const sweep::CellResult& result);

}  // namespace analysis
