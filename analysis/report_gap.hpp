#pragma once
#include <string>
#include <utility>
#include <vector>

#include "sweeps/table.hpp"

namespace analysis {

/// KV of a job over the gap in which a tool runs, under one policy: from the last token of a turn
/// to that of the next.
struct GapStory {
  std::string variant;
  double finish_s = 0, return_s = 0;           // the turn ended; the tool came back
  double admit_s = 0, first_s = 0, end_s = 0;  // of the next turn; NaN if it never happened
  double context_tok = 0;                      // that the turn left in whole blocks
  double found_gpu_tok = 0, found_host_tok = 0, computed_tok = 0;  // what the next turn met
  double load_stall_s = 0, recompute_s = 0;
  std::vector<std::pair<double, double>> gpu, host;  // (time, tokens from there on)
  std::vector<std::pair<double, double>> pinned;     // (from, to)
};

/// The same gap of the same job under several policies.
struct OneGap {
  std::string jps, job;
  int turn = 0;  // that ended before the gap, from 0
  std::vector<GapStory> stories;
};

/// Which gap of a cell to show: of the job in the middle, its middle one. turn is -1 when no job
/// has two turns.
struct ChosenGap {
  int job = 0, turn = -1;
  std::string id;
};
ChosenGap choose_gap(const sweep::Table& jobs, const sweep::Table& turns);

/// Follows a job's KV by the events of its cell. What was in memory when the next turn looked is
/// recorded; in between it is what the job had less what the events say was taken.
/// Returns false when the cell has no such two turns.
bool tell_gap(const ChosenGap& gap, const sweep::Table& turns, const sweep::Table& events,
              int block_tok, GapStory& story);

}  // namespace analysis
