#pragma once
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "driver/plan/plan.hpp"
#include "driver/search/child_runs.hpp"
#include "sweeps/archive/reader.hpp"
#include "sweeps/commits/lock.hpp"

namespace driver {

/// The cells that results ask for.
struct Asked {
  std::set<int> cells, open;           // of the plan; open: without a result
  int decided = 0, of = 0;             // questions of the search; of = 0: it does not count them
  std::string what = {};               // the questions, "rows", or what is about to run
  std::vector<std::string> only = {};  // --only for these cells; empty: each by its axes
  std::size_t to_confirm = 0;          // cells that another backend is to run, too

  std::size_t needs() const { return cells.size() + to_confirm; }
  bool exceeds(std::optional<int> budget) const {
    return budget && needs() > static_cast<std::size_t>(*budget);
  }
};

/// A search runs cells of a plan in rounds. What it asks for depends only on results of cells that
/// it has asked for. So one that was killed goes on to the same cells and the same answer, and
/// another number of ranks finds them, too.
class Rounds {
 public:
  /// `name` is that of the search: "capacity". `run` is a run of it, without its cells.
  Rounds(const Options& options, const ChildRuns& runs, std::string name, ChildRun run)
      : options_(options), runs_(runs), name_(std::move(name)), run_(std::move(run)) {}

  void plan(const std::string& sweep_file);
  const Plan& plan() const { return plan_; }
  /// Reads what is known of the plan's cells. One that failed counts as planned until this process
  /// has tried it again.
  void read();
  const std::vector<sweep::CellRecord>& records() const { return records_; }
  const sweep::CellRecord& at(int cell) const { return records_[static_cast<std::size_t>(cell)]; }
  /// The archive of the last read(); null before the first result.
  sweep::ArchiveReader* archive() { return reader_ ? &*reader_ : nullptr; }
  /// The number in the plan of one of records().
  int index_of(const sweep::CellRecord& record) const {
    return static_cast<int>(&record - records_.data());
  }
  /// Adds one of records(). Returns whether it waits for its result.
  bool ask(const sweep::CellRecord& record, Asked& asked) const;

  /// Runs what `judge` reads to be open, and asks it again, until nothing is. Returns the exit
  /// code: kOk where cells failed, too; kIncomplete where a round would need more than
  /// --budget cells. Keeps other searches out of the archive from then on, since both would write
  /// what their runs read: throws sweep::ArchiveInUse while there is one.
  int search(const std::function<Asked()>& judge);
  /// The cells asked for by the last judgement.
  const Asked& asked() const { return asked_; }
  bool is_out_of_budget() const { return is_out_of_budget_; }
  /// Says why a search, `name`, ended without its answer: the exit code of a run, which it returns,
  /// or the budget. Removes what a search has written that has not begun.
  int report_end(const std::string& name, int exit_code) const;

  /// Runs cells on another backend, into another archive, unless that is beyond the budget.
  int confirm(const std::string& backend, const std::string& archive, const std::set<int>& cells);
  using ReasonOf = std::function<std::string(const sweep::CellRecord&)>;
  /// Marks cells of an archive that have not run as excluded, where there is a reason.
  void exclude(const std::string& archive, const ReasonOf& reason_of) const;
  /// Gives the archive the plan and its text, which otherwise the next run does.
  void store_plan() const;
  /// After the last round: excludes the cells that were not asked for.
  void finish() const;

 private:
  void write(const std::string& archive, const sweep::ArchiveReader& reader,
             const std::string& spec_text, std::vector<sweep::CellRecord> cells) const;
  void finish(const std::string& archive, const ReasonOf& reason_of) const;
  sweep::ArchiveReader archive_of(const std::string& path) const;
  sweep::LockHolder self() const;
  std::vector<std::string> only_of(const std::set<int>& cells) const;
  int start(const ChildRun& run, const std::string& message, const std::string& says = "") const;
  int run_open();

  const Options& options_;
  const ChildRuns& runs_;
  std::string name_;
  ChildRun run_;
  std::optional<sweep::ArchiveLock> lock_;  // among searches; each of their runs locks the archive
  Plan plan_;
  Asked asked_;
  std::optional<sweep::ArchiveReader> reader_;
  std::vector<sweep::CellRecord> records_;
  std::set<std::string> tried_;  // keys of cells that this process has run
  int rounds_ = 0;
  bool is_out_of_budget_ = false;
  bool has_begun_ = true;  // false: a run failed before it wrote any of the archive
};

/// Whether a run ended as usual: with a result of each cell, or without some of them.
bool is_over(int exit_code);

/// The cell's axes as the sweep file and --only have them: a policy without the changes that its
/// label names.
sweep::AxisValues written_axes(const PlannedCell& planned);

/// Throws UsageError under mpirun, since a search starts its runs itself, and for a budget below
/// one cell.
void check_search(const Options& options, const std::string& command);

}  // namespace driver
