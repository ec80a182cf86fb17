#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <thread>

#include "analysis/digest/statistics.hpp"
#include "analysis/text/escape.hpp"
#include "analysis/text/json.hpp"
#include "analysis/text/text_table.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/commands/commands.hpp"
#include "driver/farm/drain.hpp"
#include "driver/plan/asked_file.hpp"
#include "driver/plan/history.hpp"
#include "sweeps/commits/lock.hpp"
#include "sweeps/commits/marks.hpp"
#include "workers/rank/host.hpp"

namespace driver {
namespace {

using sweep::CellRecord;
using sweep::CellStatus;

/// The states of a cell, with their names in tables and in JSON.
enum CellState : std::size_t { done, running, left, failed, not_run, states };
constexpr const char* kStates[][2] = {{"done", "done"},
                                      {"running", "running"},
                                      {"left", "left"},
                                      {"failed", "failed"},
                                      {"not run", "not_run"}};

struct Counts {
  int cells = 0;
  std::array<int, states> of{};
  std::vector<double> wall_s;  // of cells that are done, where it was recorded
};

// A driver sends a heartbeat every ten seconds.
constexpr double kLongestSilence = 60;

struct Status {
  std::string sweep, backend;
  std::string search;  // how far a search over the archive is; empty without one
  Counts all;
  std::map<std::string, Counts> by_sku;
  std::vector<CellRecord> failures;
  std::vector<std::pair<CellRecord, sweep::RunMark>> runs;
  std::optional<sweep::LiveDriver> driver;  // that runs its cells
  double silent_s = 0;                      // since the driver's last heartbeat
  std::vector<std::string> kept;            // results that the plan has no cell for
  std::vector<std::string> left_why;  // by the last run, which is over: a line for each reason
  bool is_over() const { return all.of[running] == 0 && all.of[left] == 0; }
  bool driver_is_silent() const { return driver && silent_s > kLongestSilence; }
};

/// The cells that a search asks for at present, or all; `says`: the search's line about itself.
std::set<int> asked_cells(const std::string& path, const std::vector<CellRecord>& cells,
                          std::string& says) {
  CellChoice asked;
  std::ifstream file(asked_file(path));
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(kSearchSays))
      says = line.substr(std::string_view(kSearchSays).size());
    else
      asked.only.push_back(line);
  std::set<int> indices;
  for (const auto& cell : selected_cells(cells, asked)) indices.insert(cell.record->index);
  return indices;
}

CellState state_of(const CellRecord& cell, bool runs, bool asked) {
  if (cell.status == CellStatus::ok) return done;
  if (runs) return running;
  if (cell.status == CellStatus::planned && asked) return left;
  return has_failed(cell.status) ? failed : not_run;
}

/// Why the last run in /provenance left cells, a line for each reason.
std::vector<std::string> why_left(const sweep::Table& runs) {
  if (!runs.has(kLeft) || !runs.has("started_utc")) return {};
  const auto& started = runs.values<std::string>("started_utc");
  std::size_t last = 0;
  for (std::size_t i = 0; i < started.size(); ++i)
    if (started[i] >= started[last]) last = i;
  std::vector<std::string> lines;
  if (!started.empty()) lines = sweep::split(runs.values<std::string>(kLeft)[last], "\n");
  std::erase(lines, "");
  return lines;
}

/// Counts the cells of an archive by state. One with a mark in `marks` is running.
void read_cells(const sweep::ArchiveReader& reader, const std::set<int>& asked,
                const std::map<std::string, sweep::RunMark>& marks, Status& status) {
  const std::vector<analysis::ConfiguredCell> cells(reader.cells().begin(), reader.cells().end());
  std::map<std::string, const CellRecord*> planned;  // by label; they come before kept ones
  for (const analysis::ConfiguredCell& configured : cells) {
    const CellRecord& cell = *configured.record;
    if (cell.kept) {
      const auto now = planned.find(cell.label);
      status.kept.push_back(
          cell.label +
          (now == planned.end() ? "" : ": " + changes(cell.config_json, now->second->config_json)));
      continue;
    }
    planned.emplace(cell.label, &cell);
    const auto mark = marks.find(cell.key);
    const bool runs = mark != marks.end() && cell.status != CellStatus::ok;
    status.backend = cell.backend;
    const CellState state = state_of(cell, runs, asked.contains(cell.index));
    for (Counts* counts : {&status.all, &status.by_sku[analysis::shown(configured.value("gpu"))]}) {
      ++counts->cells;
      ++counts->of[state];
      if (state == done) counts->wall_s.push_back(cell.run.wall_s);
    }
    if (runs) status.runs.emplace_back(cell, mark->second);
    if (state == failed) status.failures.push_back(cell);
  }
}

Status read_status(const std::string& path) {
  Status status;
  using_files([&path] { sweep::resolved(path); });  // refuses links that lead to themselves
  // Read first: a driver that ends after this has written everything that is read below.
  status.driver = sweep::live_driver(path);
  if (status.driver) status.silent_s = std::max(0.0, -engine::seconds_until(status.driver->heard));
  if (status.driver_is_silent() && !status.driver->is_certain) status.driver.reset();
  std::map<std::string, sweep::RunMark> marks;
  const std::string host = worker::detect_host().name;
  // Marks are read before cells: one that is committed in between then counts as done. The mark of
  // a process that was killed stays.
  for (sweep::RunMark& mark : sweep::run_marks(path))
    if (!sweep::process_is_gone(mark, host)) marks.emplace(mark.key, mark);
  const sweep::ArchiveReader reader = open_archive(path);
  status.sweep = reader.sweep_name();
  read_cells(reader, asked_cells(path, reader.cells(), status.search), marks, status);
  if (!status.driver && status.all.of[left] > 0) status.left_why = why_left(reader.provenance());
  return status;
}

/// Seconds until the cells of a SKU are over, if they take as long as earlier ones; NaN if no time
/// is known.
double seconds_left(const Counts& counts) {
  const int runs = counts.of[running], open = counts.of[left] + runs;
  if (open == 0) return 0;
  return analysis::mean(analysis::observed(counts.wall_s)) * open / std::max(1, runs);
}

/// "5/72 done, 2 running, 64 left, 1 failed"
std::string line_of(const Counts& counts) {
  std::string line = std::to_string(counts.of[done]) + '/' +
                     std::to_string(counts.cells - counts.of[not_run]) + " done";
  for (const CellState each : {running, left, failed})
    line += ", " + std::to_string(counts.of[each]) + ' ' + kStates[each][0];
  if (counts.of[not_run] > 0)
    line += " (" + std::to_string(counts.of[not_run]) + " excluded, infeasible or not asked for)";
  return line;
}

void print_skus(const Status& status, std::ostream& out) {
  analysis::Grid grid;
  grid.columns = {{"gpu", "", false}, {"cells", ""}};
  for (const auto& [name, key] : kStates) grid.columns.push_back({name, ""});
  grid.columns.push_back({"about", "s left"});
  for (const auto& [sku, counts] : status.by_sku) {
    std::vector<std::string> row = {sku, std::to_string(counts.cells)};
    for (const int each : counts.of) row.push_back(std::to_string(each));
    row.push_back(analysis::four_digits(seconds_left(counts)));
    grid.rows.push_back(std::move(row));
  }
  print_text(grid, out);
}

/// "driver silent for 90 s: process 12 on host n1 is stopped or waits for its disk"
std::string silence_of(const Status& status) {
  return sweep::formatted("driver silent for %.0f s: ", status.silent_s) +
         analysis::terminal_text(to_text(status.driver->holder)) +
         " is stopped or waits for its disk";
}

void print_status(const Status& status, std::ostream& out) {
  const auto safe = [](const std::string& text) { return analysis::terminal_text(text); };
  out << safe(status.sweep) << ": " << line_of(status.all) << ", backend " << safe(status.backend)
      << "\n\n";
  print_skus(status, out);
  if (!status.search.empty()) out << safe(status.search) << '\n';
  for (const auto& [cell, mark] : status.runs) {
    out << "running: cell " << cell.index << ": " << safe(cell.label) << ": attempt "
        << mark.attempt << ", process " << mark.pid << " on " << safe(mark.host) << '\n';
  }
  if (status.driver_is_silent()) out << silence_of(status) << '\n';
  for (const CellRecord& cell : status.failures) {
    out << sweep::to_text(cell.status) << ": cell " << cell.index << ": " << safe(cell.label)
        << ": " << safe(cell.reason) << '\n';
  }
  constexpr std::size_t kMostKept = 12;
  for (std::size_t i = 0; i < std::min(kMostKept, status.kept.size()); ++i)
    out << "kept from another setting: " << safe(status.kept[i]) << '\n';
  if (status.kept.size() > kMostKept)
    out << "kept from another setting: " << status.kept.size() - kMostKept << " more\n";
  for (const std::string& line : status.left_why)
    out << "left by the last run: " << safe(line) << '\n';
}

void add_counts(analysis::Json& json, const Counts& counts) {
  json["cells"] = counts.cells;
  for (std::size_t i = 0; i < states; ++i) json[kStates[i][1]] = counts.of[i];
  json["seconds_left"] = seconds_left(counts);
}

void print_json(const Status& status, std::ostream& out) {
  using analysis::Json;
  Json json = {{"sweep", status.sweep},
               {"backend", status.backend},
               {"over", status.is_over()},
               {"driver", status.driver.has_value()},
               {"driver_silent_s", status.driver ? status.silent_s : sweep::kNotObserved}};
  add_counts(json, status.all);
  json["search"] = status.search;
  json["kept"] = status.kept.size();
  Json& gpus = json["gpus"] = Json::array();
  for (const auto& [sku, counts] : status.by_sku) {
    gpus.push_back({{"gpu", sku}});
    add_counts(gpus.back(), counts);
  }
  json["running_cells"] = Json::array();
  for (const auto& [cell, mark] : status.runs)
    json["running_cells"].push_back({{"cell", cell.index},
                                     {"label", cell.label},
                                     {"attempt", mark.attempt},
                                     {"host", mark.host},
                                     {"pid", mark.pid}});
  json["failures"] = Json::array();
  for (const CellRecord& cell : status.failures)
    json["failures"].push_back({{"cell", cell.index},
                                {"label", cell.label},
                                {"status", sweep::to_text(cell.status)},
                                {"reason", cell.reason},
                                {"attempts", cell.run.attempts}});
  json["left_why"] = status.left_why;
  analysis::write_line(json, out);
}

/// Prints a line whenever the counts change, until nothing is left to do or no driver runs.
Status watch(const Options& options) {
  std::string shown;
  for (;;) {
    Status status = read_status(options.arguments.front());
    if (status.is_over() || !status.driver) return status;
    const std::string silent = status.driver_is_silent() ? "; the driver is silent" : "";
    const std::string line = line_of(status.all) + silent;
    if (line != shown) {
      options.json ? print_json(status, std::cout) : void(std::cout << line << std::endl);
      analysis::flush_checked(std::cout);
    }
    shown = line;
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

}  // namespace

int status(const Options& options) {
  const Status status = options.watch ? watch(options) : read_status(options.arguments.front());
  options.json ? print_json(status, std::cout) : print_status(status, std::cout);
  if (!options.watch || status.is_over()) return kOk;
  std::cerr << "kvsweep: no driver runs what is left of "
            << analysis::terminal_text(options.arguments.front())
            << "; `kvsweep run` goes on with it\n";
  return kIncomplete;
}

}  // namespace driver
