#pragma once
#include <cstdint>
#include <vector>

#include "sweeps/result.hpp"

namespace analysis {

/// A stretch of steps in which a turn got the same share of every batch: decoding, mostly. In each
/// of `count` steps from row `first` of /steps on, `tokens` of the turn were computed, the first of
/// them behind `before` others. Several steps are one stretch only when kind is running.
struct TurnShare {
  std::int32_t turn = 0;  // row of /turns
  sweep::SchedKind kind = sweep::SchedKind::running;
  std::int32_t first = 0, count = 0;
  std::int32_t tokens = 0, before = 0;
};

/// A stretch of steps in which a turn was running, or waiting, rows of /steps with both ends.
struct TurnStay {
  std::int32_t turn = 0;  // row of /turns
  bool running = false;
  std::int32_t first = 0, last = 0;
};

/// /sched as stretches, and the state of each request in every step: far fewer rows, from
/// which those of any step follow. The moment is that of /steps, after admission and preemption,
/// before execution.
struct TurnSpans {
  std::vector<TurnShare> shares;  // in the order of their first steps
  std::vector<TurnStay> stays;
};

/// Throws std::logic_error when the tables contradict each other.
TurnSpans turn_spans(const sweep::CellResult& result);

}  // namespace analysis
