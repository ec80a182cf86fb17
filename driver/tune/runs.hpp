#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "analysis/compare/config.hpp"
#include "driver/command_line/options.hpp"
#include "driver/tune/child_runs.hpp"
#include "driver/tune/race.hpp"
#include "sweeps/definition/sweep.hpp"

namespace driver {

/// Cells of a tuning: these policies with repeats [first, last) of the sweep.
struct TuneCells {
  std::vector<std::string> policies;
  int first = 0, last = 0;
};

/// The runs of a tuning, in a folder with everything that they read and write, so that they can be
/// repeated by hand. A second tuning of the same sweep goes on there.
///
///     NAME-tune.toml     the sweep, with the candidates as further policies
///     profiles/          the profiles, with a policy for each candidate
///     train.h5           the candidates' cells
///     held-out.h5        the cells that judge the winner
///     *.h5.asked         of an archive: which cells its last run was asked for (an --only)
///     candidates.csv     what became of each candidate
///     runs.log           what the runs printed
///     POLICY-tuned.toml  the winner
class TuneRuns {
 public:
  /// Writes the sweep and the profiles into --output. Throws UsageError when the folder has another
  /// tuning.
  TuneRuns(const Options& options, const sweep::SweepSpec& spec,
           std::span<const Candidate> candidates);

  std::string sweep_file() const { return file((name_ + "-tune.toml").c_str()); }
  std::string file(const char* name) const { return (path_ / name).string(); }

  /// Runs what the archive (a file of the folder) lacks, with further assignments, and shows why it
  /// waits, fails or leaves cells. Returns the exit code of the run. Throws std::runtime_error when
  /// it is killed.
  int run(const char* archive, const TuneCells& cells, sweep::ParamMap set) const;

  /// The metric of each policy and seed of an archive, as the geometric mean over the other axes;
  /// its inverse where more is better. Points that not all of these policies have do not count, and
  /// seeds without a result at some point are left out. Throws sweep::SpecError for a metric that
  /// no cell has, or a value that is not above 0.
  Scores scores(const char* archive, const TuneCells& cells) const;

  /// Marks cells of those that are out, as far as they have not run, as excluded, with the reason.
  void exclude(const char* archive, std::span<const Entrant> entrants) const;

  void write_candidates(std::span<const Candidate> candidates, std::span<const Entrant> entrants,
                        const Scores& scores) const;
  /// Returns the path.
  std::string write_winner(const Candidate& winner, const std::string& comment) const;

 private:
  std::string policy_text(const sweep::ParamMap& values, const std::string& comment) const;
  std::string metric_of(const std::vector<analysis::ConfiguredCell>& cells) const;

  const Options& options_;
  const sweep::TuneSpec& tune_;
  std::string name_;
  std::filesystem::path path_;
  ChildRuns runs_;
};

}  // namespace driver
