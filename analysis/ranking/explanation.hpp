#pragma once
#include <span>
#include <string>
#include <vector>

#include "analysis/ranking/answer.hpp"

namespace analysis {

/// Why the best policies are fast. A line for each place, amount of host memory and outcome: "at 3
/// and 10 jobs/s continuum is 3.91 to 4.01 times as fast as fcfs; order alone (job_fcfs) 3.28 to
/// 3.40, retention alone (pin) 1.01 to 1.02". It names how fast each part of the policy is alone,
/// or which policy would tell, and whether its pins hold almost nothing.
std::vector<AnswerLine> explain(std::span<const RateRow> rows, std::span<const Regime> regimes);

/// A policy that would tell what one part of the best one is worth, and where it is the best.
struct Ablation {
  std::string policy;
  std::vector<std::string> gpus, rates;
};
std::vector<Ablation> missing_ablations(std::span<const RateRow> rows,
                                        std::span<const Regime> regimes);

/// "kvsweep run s.toml --set x=1": the command line of a run without what was of that run alone,
/// its archive and its choice of cells.
std::string command_again(const std::string& run);

/// The command that runs it, from that of the sweep ("run s.toml --set x=1 --archive s.h5"), into
/// an archive of its own.
std::string ablation_command(const Ablation& ablation, const std::string& run);

}  // namespace analysis
