#pragma once
#include <span>
#include <string>
#include <vector>

#include "analysis/compare/config.hpp"
#include "driver/command_line/options.hpp"
#include "driver/tune/folder.hpp"

namespace driver {

/// Cells of a tuning: these policies with repeats [first, last) of the sweep.
struct TuneCells {
  std::vector<std::string> policies;
  int first = 0, last = 0;
  std::string backend = {};  // empty: that of the search
};

/// The runs of a tuning, each a `kvsweep run` in a process of its own, so that one which is killed
/// is continued by the next tuning like any other run.
class TuneRuns {
 public:
  TuneRuns(const Options& options, const TuneFolder& folder, const sweep::SweepSpec& spec)
      : options_(options), folder_(folder), spec_(spec), tune_(*spec.tune) {}

  /// Runs what the archive (a file of the folder) lacks, with further assignments. Returns the exit
  /// code of the run. Throws std::runtime_error when it is killed.
  int run(const char* archive, const TuneCells& cells, const sweep::ParamMap& set) const;

  /// The metric of each policy and seed of an archive, as the geometric mean over the other axes;
  /// its inverse where more is better. Points that not all of these policies have do not count, and
  /// seeds without a result at some point are left out. Throws sweep::SpecError for a metric that
  /// no cell has, or a value that is not above 0.
  Scores scores(const char* archive, const TuneCells& cells) const;

  /// Marks cells of those that are out, as far as they have not run, as excluded, with the reason.
  void exclude(const char* archive, std::span<const Entrant> entrants) const;

 private:
  std::string metric_of(const std::vector<analysis::ConfiguredCell>& cells) const;
  std::vector<std::string> words(const char* archive, const TuneCells& cells,
                                 const sweep::ParamMap& set) const;

  const Options& options_;
  const TuneFolder& folder_;
  const sweep::SweepSpec& spec_;
  const sweep::TuneSpec& tune_;
};

}  // namespace driver
