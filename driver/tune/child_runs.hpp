#pragma once
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "driver/command_line/options.hpp"
#include "sweeps/archive/cells_table.hpp"
#include "sweeps/definition/sweep.hpp"

namespace driver {

/// What a run of a search is about.
struct ChildRun {
  std::string archive;
  std::vector<std::string> only;       // as --only
  std::string backend = {};            // empty: that of the search
  sweep::ParamMap set = {};            // further assignments
  std::vector<std::string> more = {};  // further words
};

/// The runs of a search over a sweep, each a `kvsweep run` in a process of its own, so that one
/// which is killed is continued by the same search like any other run.
class ChildRuns {
 public:
  /// `sweep_file` is what they run in place of the file of `spec`, whose relative paths are
  /// resolved; `log` gets what they print. Throws UsageError if there is no program that
  /// --launch names.
  ChildRuns(const Options& options, const sweep::SweepSpec& spec, std::string sweep_file,
            std::string profiles, std::string log);

  /// Runs what the archive lacks, and shows why it waits, fails or leaves cells. Returns the exit
  /// code of the run. Throws std::runtime_error when it is killed.
  int run(const ChildRun& child) const;
  /// After a run that failed before it wrote any of the archive, as where its launcher does not
  /// find a program: shows the last of what it printed, and removes the files that the search has
  /// made for it; the log stays where it has more than that, or was there before.
  void remove_traces(const std::string& archive) const;
  /// KEY=VALUE of every --set.
  std::vector<std::string> assignments(const sweep::ParamMap& set) const;
  /// That of the command line or the file; else sim.
  std::string backend() const;
  const std::string& log() const { return log_; }

 private:
  std::vector<std::string> words(const ChildRun& child) const;
  std::string with_users_places(std::string line) const;

  const Options& options_;
  const sweep::SweepSpec& spec_;
  std::string sweep_file_, profiles_, log_;
  bool had_log_;                         // before the search
  mutable std::set<std::string> shown_;  // lines of runs
};

/// Whether a run ended as usual: with a result of each cell, or without some of them.
bool is_over(int exit_code);

/// "a run stopped before its last cell (exit code 75, tuned/runs.log); the same command continues"
std::string why_search_ends(int exit_code, const std::string& log);

/// Writes beside the archive what its run is asked for, a --only in each line, so that `status`
/// knows which cells are left; `says` is a line that it prints.
void write_asked(const std::string& archive, const std::vector<std::string>& only,
                 const std::string& says = "");

/// Marks cells that have not run as excluded, where there is a reason.
void exclude_cells(const Options& options, const std::string& archive,
                   const std::function<std::string(const sweep::CellRecord&)>& reason_of);

}  // namespace driver
