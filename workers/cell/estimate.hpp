#pragma once
#include "workers/cell/experiment.hpp"

namespace worker {

/// The expected cost of a cell, estimated from its cost model and the sizes of its turns. Good for
/// ordering cells and planning an allocation, not for results.
struct CellEstimate {
  double served_s = 0;       // on the cell's clock: first arrival to last token
  double steps = 0;          // engine steps in that time
  std::string assumed = {};  // by the converter of its trace, for people
};

CellEstimate estimate_cell(const ExperimentConfig& config, WorkloadCache& workloads);

/// A job's absence between two turns: it decodes an answer and the gap passes, while prompts of
/// others fill every step. Waiting for subagents is not counted.
struct Absence {
  double answer = 0;  // tokens, mean
  double gap_s = 0;   // mean
  double step_s = 0;  // of a step full of prompts
  double tokens = 0;  // computed for others: at most all prompts of the workload
};

/// No tokens where no job has a second turn.
Absence absence_of(const ExperimentConfig& config, WorkloadCache& workloads);

/// The starts of a cell's server, guessed: a minute to compile, for llama-server half a second, and
/// the weights at 1 GB/s.
struct ServerStarts {
  double seconds = 0;  // of one; 0: nothing is started
  bool each_cell = false;
};

ServerStarts server_starts(const ExperimentConfig& config);

/// Seconds for which the cell occupies a worker: `served_s` on the wall clock, or the simulator's
/// time for the steps.
double busy_seconds(const ExperimentConfig& config, const CellEstimate& estimate);

}  // namespace worker
