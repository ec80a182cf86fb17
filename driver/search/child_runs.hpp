#pragma once
#include <set>
#include <string>
#include <vector>

#include "analysis/text/list.hpp"
#include "driver/command_line/options.hpp"
#include "sweeps/definition/sweep.hpp"

namespace driver {

/// "[1, 2.5]": a line of a sweep file, behind a key.
std::string list_of(const auto& items, auto text_of) {
  return '[' + sweep::joined(analysis::mapped(items, text_of)) + "]\n";
}

struct ChildRun {
  std::string archive;
  sweep::ParamMap set = {};            // further assignments
  std::vector<std::string> more = {};  // further words
  std::string backend = {};            // empty: that of the search
  std::vector<std::string> only = {};  // as --only
};

/// The runs of a search over a sweep, each a `kvsweep run` in a process of its own, so that one
/// which is killed is continued by the same search like any other run.
class ChildRuns {
 public:
  /// `sweep_file` is what they run in place of the file of `spec`, whose relative paths are
  /// resolved; `log` gets what they print. Throws UsageError if there is no program that
  /// --launch names.
  ChildRuns(const Options& options, const sweep::SweepSpec& spec, std::string sweep_file,
            std::string log);

  /// Runs what the archive lacks, and shows why it waits, fails or leaves cells. Returns the exit
  /// code of the run. Throws std::runtime_error when it is killed.
  int run(const ChildRun& child) const;
  /// After a run that wrote no archive: prints the end of its output and removes the search's
  /// files. Keeps a log that has more, or existed before.
  void remove_traces(const std::string& archive) const;
  /// KEY=VALUE of every --set.
  std::vector<std::string> assignments(const sweep::ParamMap& set) const;
  /// That of the command line or the file; else sim.
  std::string backend() const;
  const std::string& sweep_file() const { return sweep_file_; }
  const std::string& log() const { return log_; }

 private:
  std::vector<std::string> words(const ChildRun& child) const;
  std::string with_users_places(std::string line) const;

  const Options& options_;
  const sweep::SweepSpec& spec_;
  std::string sweep_file_, log_;
  bool had_log_;                         // before the search
  mutable std::set<std::string> shown_;  // lines of runs
};

}  // namespace driver
