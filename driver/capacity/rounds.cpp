#include "driver/capacity/rounds.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>

#include "analysis/text/escape.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/command_line/failure.hpp"

namespace driver {

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
  options.set = runs_.assignments({});
  options.backend = runs_.backend();
  plan_ = make_plan(sweep_file, options);
}

void Rounds::read() {
  reader_.reset();
  std::map<std::string, const sweep::CellRecord*> found;
  if (std::filesystem::exists(archive_)) {
    reader_.emplace(open_archive(archive_));
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

int Rounds::run(const std::set<int>& cells, const std::string& stand) {
  const std::string says = what_ + ": round " + std::to_string(++rounds_) + ", " + stand;
  const std::vector<std::string> only = only_of(cells);
  write_asked(archive_, only, says);
  std::cerr << "kvsweep: " << says << ", " << cells.size() << " of them run; their output goes to "
            << analysis::terminal_text(runs_.log()) << std::endl;
  reader_.reset();
  const int code = runs_.run({archive_, only, {}, {}, more_});
  if (!is_over(code)) {
    const bool has_begun = code == kIncomplete || code == kArchiveInUse ||
                           std::filesystem::exists(archive_) ||
                           std::filesystem::exists(archive_ + ".d");
    if (!has_begun) runs_.remove_traces(archive_);
    return code;
  }
  for (const int cell : cells) tried_.insert(at(cell).key);
  read();
  if (std::ranges::all_of(cells, [&](int cell) { return is_open(cell); }))
    throw std::runtime_error("the cells that were asked for have no result: see " + runs_.log());
  return kOk;
}

int Rounds::confirm(const std::string& backend, const std::string& archive,
                    const std::set<int>& cells) {
  const std::vector<std::string> only = only_of(cells);
  write_asked(archive, only);
  std::cerr << "kvsweep: " << cells.size() << " cells run on " << backend
            << "; their output goes to " << analysis::terminal_text(runs_.log()) << std::endl;
  return runs_.run({archive, only, backend, {}, more_});
}

void Rounds::finish(const std::set<int>& asked) const {
  if (!std::filesystem::exists(archive_)) return;
  std::set<std::string> needed;
  for (const int cell : asked) needed.insert(at(cell).key);
  exclude_cells(options_, archive_, [&](const sweep::CellRecord& cell) -> std::string {
    return needed.contains(cell.key) ? "" : "kvsweep " + what_ + " has its answer without it";
  });
  std::error_code ignored;
  std::filesystem::remove(archive_ + ".asked", ignored);
}

}  // namespace driver
