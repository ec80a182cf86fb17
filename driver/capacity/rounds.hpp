#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "driver/plan/plan.hpp"
#include "driver/tune/child_runs.hpp"
#include "sweeps/archive/reader.hpp"

namespace driver {

/// A search runs cells of a plan in rounds. What it asks for depends only on results of cells that
/// it has asked for. So one that was killed goes on to the same cells and the same answer, and
/// another number of ranks finds them, too.
class Rounds {
 public:
  /// `what` is searched for: "capacity". `more` are further words of each run.
  Rounds(const Options& options, const ChildRuns& runs, std::string archive, std::string what,
         std::vector<std::string> more)
      : options_(options),
        runs_(runs),
        archive_(std::move(archive)),
        what_(std::move(what)),
        more_(std::move(more)) {}

  void plan(const std::string& sweep_file);
  const Plan& plan() const { return plan_; }
  /// Reads what is known of the plan's cells. One that failed counts as planned until this process
  /// has tried it again.
  void read();
  const std::vector<sweep::CellRecord>& records() const { return records_; }
  /// Of the last read(); null before the first result.
  sweep::ArchiveReader* archive() { return reader_ ? &*reader_ : nullptr; }
  /// Whether the cell waits for its result.
  bool is_open(int cell) const { return at(cell).status == sweep::CellStatus::planned; }

  /// Runs cells and reads their results. `stand`: "12 of 24 rows are decided". Returns the exit
  /// code of the run; kOk where cells failed, too.
  int run(const std::set<int>& cells, const std::string& stand);
  /// Runs cells on another backend, into another archive.
  int confirm(const std::string& backend, const std::string& archive, const std::set<int>& cells);
  /// After the last round: excludes the cells that were not asked for.
  void finish(const std::set<int>& asked) const;

 private:
  const sweep::CellRecord& at(int cell) const { return records_[static_cast<std::size_t>(cell)]; }
  std::vector<std::string> only_of(const std::set<int>& cells) const;

  const Options& options_;
  const ChildRuns& runs_;
  std::string archive_, what_;
  std::vector<std::string> more_;
  Plan plan_;
  std::optional<sweep::ArchiveReader> reader_;
  std::vector<sweep::CellRecord> records_;
  std::set<std::string> tried_;  // keys of cells that this process has run
  int rounds_ = 0;
};

/// The cell's axes as the sweep file and --only have them: a policy without the changes that its
/// label names.
sweep::AxisValues written_axes(const PlannedCell& planned);

/// Throws UsageError under mpirun, since a search starts its runs itself, and for a budget below
/// one cell.
void check_search(const Options& options, const std::string& command);

}  // namespace driver
