#pragma once
#include <span>
#include <string>
#include <vector>

#include "analysis/answer/answer.hpp"
#include "analysis/text/export_grid.hpp"

namespace analysis {

// Which part of a policy makes it fast. The parts of a policy are its order, retention, tier,
// prefetch, preemption and layout; each is what the keys of that part say, and off if it is as in
// fcfs.

/// What a part changes where everything else stays as it is: the figure of `with` over that of
/// `without`, two policies of a row that differ in this part alone, off in `without`.
struct Effect {
  Place place;
  std::string jps;
  std::string part, value;  // "order", "job_fcfs"
  std::string beside;       // the parts that both have on: "retention pin"; empty: none
  std::string without, with;
  Ratio ratio;
};

/// Of all rows, by one figure, in their order.
std::vector<Effect> effects_of(std::span<const RateRow> rows, std::string_view figure);

/// Numbers are rounded to four digits, except in CSV.
Grid to_grid(std::span<const Effect> effects, GridFormat format);

/// How many times as fast as fcfs the best policy is, and how fast each of its parts is alone, or
/// which policy would tell. A line for each place and amount of host memory: "h100-80gb: continuum
/// is 4.01 times as fast as fcfs at 3 jobs/s and 3.91 at 10; order alone (job_fcfs) 3.40 at 3 and
/// 3.28 at 10, retention alone (pin) 1.02 at 3 and 1.01 at 10". It says so if a policy has one part
/// alone, its pins hold almost nothing, or a part alone is as fast, and how much of the prompts is
/// found in a cache: "prompt tokens found in a cache: 91 % (fcfs 37 %) at 3 and ...".
std::vector<std::string> explain(std::span<const RateRow> rows, std::span<const Regime> regimes);

/// A policy that would tell what one part of the best one is worth, and where it is the best.
struct Ablation {
  std::string policy;
  std::vector<std::string> gpus, rates;
};
std::vector<Ablation> missing_ablations(std::span<const RateRow> rows,
                                        std::span<const Regime> regimes);

/// The command that runs it, from that of the sweep ("run s.toml --set x=1 --archive s.h5"), into
/// an archive of its own.
std::string ablation_command(const Ablation& ablation, const std::string& run);

}  // namespace analysis
