#include "driver/search/rounds.hpp"

#include <iostream>

#include "analysis/capacity/rules.hpp"
#include "analysis/text/escape.hpp"
#include "analysis/text/new_file.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/command_line/failure.hpp"
#include "driver/plan/asked_file.hpp"
#include "driver/plan/history.hpp"
#include "sweeps/commits/archive.hpp"
#include "workers/rank/host.hpp"

namespace driver {

namespace fs = std::filesystem;

sweep::AxisValues written_axes(const PlannedCell& planned) {
  sweep::AxisValues axes;
  for (const auto& [axis, value] : planned.cell.axes) {
    const bool is_profile = axis == "policy" && !planned.cell.params.contains(axis);
    const std::string name = is_profile ? "server.profile" : axis;
    axes.emplace_back(name, planned.cell.params.at(name).value);
  }
  return axes;
}

void check_search(const Options& options, const std::string& command) {
  if (options.in_mpi_job)
    throw UsageError(command +
                     " starts runs itself: give --launch \"mpirun -n 8\" in place of mpirun");
  if (options.budget && *options.budget < 1)
    throw UsageError("--budget must be at least 1 cell, found " + std::to_string(*options.budget));
}

void Rounds::plan(const std::string& sweep_file) {
  Options options = options_;
  options.only.clear();
  options.set = runs_.assignments(run_.set);
  options.backend = runs_.backend();
  plan_ = make_plan(sweep_file, options);
}

/// Throws sweep::ArchiveIncompatible for that of another sweep, which a run would refuse only after
/// files of the search lie beside it.
sweep::ArchiveReader Rounds::archive_of(const std::string& path) const {
  sweep::ArchiveReader archive = open_archive(path);
  PlanHistory(archive, path, plan_.spec.name);
  return archive;
}

void Rounds::read() {
  reader_.reset();
  std::map<std::string, const sweep::CellRecord*> found;
  if (fs::exists(run_.archive)) {
    reader_.emplace(archive_of(run_.archive));
    for (const sweep::CellRecord& record : reader_->cells()) found[record.key] = &record;
  }
  records_ = planned_records(plan_);
  for (sweep::CellRecord& record : records_) {
    const auto known = found.find(record.key);
    if (known == found.end() || !known->second->has_run()) continue;
    if (has_failed(known->second->status) && !tried_.contains(record.key)) continue;
    const sweep::AxisValues axes = record.axes;
    record = *known->second;
    record.axes = axes;  // whole numbers are none in the archive where a cell lacks the axis
    record.kept = false;
  }
}

bool Rounds::ask(const sweep::CellRecord& record, Asked& asked) const {
  const bool is_open = record.status == sweep::CellStatus::planned;
  asked.cells.insert(index_of(record));
  if (is_open) asked.open.insert(index_of(record));
  return is_open;
}

/// A --only for all repeats of a cell.
std::vector<std::string> Rounds::only_of(const std::set<int>& cells) const {
  std::map<std::string, std::vector<std::string>> repeats;
  for (const int index : cells) {
    const PlannedCell& planned = plan_.cells[static_cast<std::size_t>(index)];
    std::string place;
    for (const auto& [axis, value] : written_axes(planned))
      place += axis + '=' + sweep::bare_text(value) + ',';
    repeats[place].push_back(std::to_string(planned.cell.repeat));
  }
  std::vector<std::string> only;
  for (const auto& [place, numbers] : repeats)
    only.push_back(place + "repeat=" + sweep::joined(numbers, ","));
  return only;
}

/// Runs cells. Writes A.h5.asked first: one --only per line, which `status` reads; `says` becomes
/// its first line. Returns the exit code of the run.
int Rounds::start(const ChildRun& run, const std::string& message, const std::string& says) const {
  analysis::write_file(asked_file(run.archive), [&](std::ostream& out) {
    if (!says.empty()) out << kSearchSays << says << '\n';
    for (const std::string& each : run.only) out << each << '\n';
  });
  if (!message.empty())
    std::cerr << "kvsweep: " << message << "; their output goes to "
              << analysis::terminal_text(runs_.log()) << std::endl;
  return runs_.run(run);
}

int Rounds::run_open() {
  const std::set<int>& open = asked_.open;
  std::string message = asked_.what, says;
  if (asked_.of > 0) {
    says = name_ + ": round " + std::to_string(++rounds_) + ", " + std::to_string(asked_.decided) +
           " of " + std::to_string(asked_.of) + ' ' + asked_.what + " decided, " +
           std::to_string(asked_.cells.size()) + " cells asked for";
    message = says + ", " + std::to_string(open.size()) + " of them run";
  }
  reader_.reset();
  run_.only = asked_.only.empty() ? only_of(open) : asked_.only;
  const int code = start(run_, message, says);
  has_begun_ = is_over(code) || code == kIncomplete || code == kArchiveInUse ||
               fs::exists(run_.archive) || fs::exists(run_.archive + ".d");
  if (!is_over(code)) return code;
  for (const int cell : open) tried_.insert(at(cell).key);
  read();
  if (std::ranges::all_of(open,
                          [&](int cell) { return at(cell).status == sweep::CellStatus::planned; }))
    throw std::runtime_error("the cells that were asked for have no result: see " + runs_.log());
  return kOk;
}

bool is_over(int exit_code) { return exit_code == kOk || exit_code == kSomeCellsFailed; }

sweep::LockHolder Rounds::self() const {
  const worker::Host host = worker::detect_host();
  return {host.name, host.pid, options_.slurm_job};
}

int Rounds::search(const std::function<Asked()>& judge) {
  if (!lock_)
    lock_.emplace(run_.archive + ".search.d/lock", run_.archive, self(), sweep::KeepWaiting());
  for (asked_ = judge(); !asked_.open.empty(); asked_ = judge()) {
    is_out_of_budget_ = asked_.exceeds(options_.budget);
    if (is_out_of_budget_) return kIncomplete;
    if (const int code = run_open(); code != kOk) return code;
  }
  return kOk;
}

int Rounds::report_end(const std::string& name, int exit_code) const {
  if (is_out_of_budget_) {
    std::cerr << "kvsweep: the budget of " << *options_.budget << " cells leaves ";
    if (asked_.to_confirm > 0)
      std::cerr << "the answers unconfirmed: with them the search needs ";
    else
      std::cerr << asked_.of - asked_.decided << " of " << asked_.of << ' ' << asked_.what
                << " undecided: the next round needs ";
    std::cerr << asked_.needs() << "; the same command with a larger --budget continues\n";
    return exit_code;
  }
  if (!has_begun_) runs_.remove_traces(run_.archive);
  const bool has_log = fs::exists(runs_.log());
  std::cerr << "kvsweep: " << name << " ends, since a run"
            << (exit_code == kIncomplete     ? " stopped before its last cell"
                : exit_code == kArchiveInUse ? " found its archive in use"
                                             : " failed")
            << (has_log ? "" : " before it wrote a result") << " (exit code " << exit_code
            << (has_log ? ", " + analysis::terminal_text(runs_.log()) : "")
            << "); the same command " << (has_log ? "continues" : "begins again") << '\n';
  return exit_code;
}

int Rounds::confirm(const std::string& backend, const std::string& archive,
                    const std::set<int>& cells) {
  is_out_of_budget_ = asked_.exceeds(options_.budget);
  if (is_out_of_budget_) return kIncomplete;
  if (fs::exists(archive)) archive_of(archive);
  ChildRun run = run_;
  run.archive = archive;
  run.backend = backend;
  run.only = only_of(cells);
  const int code = start(run, std::to_string(cells.size()) + " cells run on " + backend);
  if (is_over(code))
    finish(archive, [](const sweep::CellRecord&) { return analysis::kConfirmsNone; });
  return code;
}

void Rounds::exclude(const std::string& archive, const ReasonOf& reason_of) const {
  const sweep::ArchiveReader reader = open_archive(archive);
  std::vector<sweep::CellRecord> cells;
  bool changes = false;
  for (const sweep::CellRecord& cell : reader.cells()) {
    if (cell.kept) continue;
    sweep::CellRecord& record = cells.emplace_back(sweep::without_outcome(cell));
    if (cell.has_run()) continue;
    record.status = cell.status;
    record.reason = cell.reason;
    const std::string reason = reason_of(cell);
    if (cell.status != sweep::CellStatus::planned || reason.empty()) continue;
    record.status = sweep::CellStatus::excluded;
    record.reason = reason;
    changes = true;
  }
  if (changes) write(archive, reader, reader.spec_text(), std::move(cells));
}

void Rounds::write(const std::string& archive, const sweep::ArchiveReader& reader,
                   const std::string& spec_text, std::vector<sweep::CellRecord> cells) const {
  sweep::ArchiveOptions head;
  head.sweep_name = reader.sweep_name();
  head.spec_text = spec_text;
  head.tool_version = reader.tool_version();
  head.self = self();
  head.keep_previous = false;
  sweep::FileOps files;
  sweep::Archive(archive, head, std::move(cells), files);
}

void Rounds::store_plan() const {
  write(run_.archive, open_archive(run_.archive), plan_.spec.text, planned_records(plan_));
}

void Rounds::finish(const std::string& archive, const ReasonOf& reason_of) const {
  exclude(archive, reason_of);
  std::error_code ignored;
  fs::remove(asked_file(archive), ignored);
}

void Rounds::finish() const {
  if (!fs::exists(run_.archive)) return;
  std::set<std::string> needed;
  for (const int cell : asked_.cells) needed.insert(at(cell).key);
  finish(run_.archive, [&](const sweep::CellRecord& cell) -> std::string {
    return needed.contains(cell.key) ? "" : "kvsweep " + name_ + " has its answer without it";
  });
}

}  // namespace driver
