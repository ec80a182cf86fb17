#pragma once
#include <string>
#include <utility>
#include <vector>

#include "sweeps/tables/table.hpp"

namespace analysis {

/// A job's KV during the gap in which its tool runs, under one policy: from the last token of a
/// turn to the last token of the next.
struct GapTimeline {
  std::string variant;
  double finish_s = 0, return_s = 0;           // the turn ended; the tool returned
  double admit_s = 0, first_s = 0, end_s = 0;  // of the next turn; NaN if it did not occur
  double context_tok = 0;                      // tokens that the turn left in whole blocks
  double found_gpu_tok = 0, found_host_tok = 0, computed_tok = 0;  // prompt of the next turn
  std::vector<std::pair<double, double>> gpu, host;                // (time, tokens from there on)
  std::vector<std::pair<double, double>> pinned;                   // (from, to)
};

/// A gap behind a turn, from 0; turn is -1 when no job has two turns.
struct ChosenGap {
  int job = 0, turn = -1;
  std::string id;  // of the job
};

/// One gap of one job under several policies.
struct ComparedGap {
  std::string jps;
  ChosenGap gap;
  std::vector<GapTimeline> timelines;
};

/// The gap of a cell to show: the middle gap of the middle job.
ChosenGap choose_gap(const sweep::Table& jobs, const sweep::Table& turns);

/// Follows a job's KV by the events of its cell. The hits of the next turn are recorded. In
/// between, the level is what the job had minus the recorded evictions. Returns false when the cell
/// lacks one of the two turns.
bool replay_gap(const ChosenGap& gap, const sweep::Table& turns, const sweep::Table& events,
                int block_tok, GapTimeline& timeline);

}  // namespace analysis
