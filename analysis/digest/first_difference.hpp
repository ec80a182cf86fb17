#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sweeps/tables/result.hpp"

namespace analysis {

/// The actions of one of two cells at a step, in words, which the other lacks.
struct OwnActions {
  std::vector<std::string> actions;  // "new job 7 turn 2: 512 tokens after 4096"
  int row = -1;                      // of /steps; -1: the cell had ended
};

/// The first step at which two cells differ in what they did.
struct FirstDifference {
  std::int64_t step = 0;  // from 1; 0: they never differ
  OwnActions a, b;
};

/// In the rows of /sched: which requests are scheduled, with how many tokens.
FirstDifference first_scheduled_apart(const sweep::CellResult& a, const sweep::CellResult& b);
/// In the rows of /kv_events: what happens to KV, such as pins and evictions.
FirstDifference first_kv_apart(const sweep::CellResult& a, const sweep::CellResult& b);

/// A number of the step that a difference is at, as text: "t_s", "n_running"; "-" if the cell had
/// ended.
std::string at_step(const sweep::CellResult& result, const OwnActions& own,
                    std::string_view column);

}  // namespace analysis
