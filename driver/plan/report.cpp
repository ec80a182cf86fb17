#include "driver/plan/report.hpp"

#include "analysis/ranking/sentences.hpp"
#include "analysis/text/escape.hpp"
#include "analysis/text/json.hpp"
#include "analysis/text/text_table.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "workers/binding/keys.hpp"

namespace driver {
namespace {

struct Total {
  int cells = 0, to_run = 0;
  double served_s = 0, busy_s = 0;
  double host_gib = 0;  // largest of one cell
};

std::map<std::string, Total> totals_by_sku(const PlanReport& report) {
  std::map<std::string, Total> totals;
  for (const PlanLine& line : report.lines) {
    Total& total = totals[line.cell->gpu()];
    ++total.cells;
    if (!line.runs) continue;
    ++total.to_run;
    total.served_s += line.served_s;
    total.busy_s += line.busy_s;
    total.host_gib = std::max(total.host_gib, line.host_gib);
  }
  return totals;
}

/// Why a cell that could run is not going to; empty when it is.
std::string obstacle(const PlanLine& line, const PlanHistory* history, const PlanRules& rules) {
  if (rules.node_gib && line.host_gib > *rules.node_gib) {
    return "infeasible: needs " + analysis::four_digits(line.host_gib) +
           " GiB of host memory, a node has " + analysis::four_digits(*rules.node_gib);
  }
  if (history == nullptr || rules.retry_quarantined || !history->is_quarantined(*line.cell))
    return "";
  return history->why_it_runs(*line.cell) + "; --retry-quarantined runs it again";
}

PlanLine line_of(const PlannedCell& planned, sweep::RecordLevel record, const PlanHistory* history,
                 const PlanRules& rules, worker::WorkloadCache& workloads) {
  PlanLine line{{}, &planned, planned.runs(), "new"};
  if (!planned.runs()) {
    line.why = std::string(sweep::to_text(planned.cell.status)) + ": " + planned.cell.reason;
    return line;
  }
  line.host_gib = planned.repeats->host_gib;
  if (const auto result = history != nullptr ? history->result_of(planned, record) : std::nullopt) {
    line.runs = false;
    line.why = "done";
    line.served_s = figure_of(result->figures, "makespan_s");
    line.busy_s = result->run.wall_s;
    line.estimated = false;
    return line;
  }
  if (history != nullptr) line.why = history->why_it_runs(planned);
  static_cast<CellCost&>(line) = cost_of(planned, workloads);
  if (const std::string why_not = obstacle(line, history, rules); !why_not.empty()) {
    line.runs = false;
    line.why = why_not;
  }
  return line;
}

/// The first cell of a server on a GPU waits for its start, which serves the others too.
void add_starts(PlanReport& report) {
  std::set<std::pair<std::string, decltype(std::declval<const server::ServerConfig>().start())>>
      started;
  for (PlanLine& line : report.lines) {
    if (!line.runs || line.starts.seconds == 0) continue;
    if (!line.starts.each_cell) {
      const BoundRepeats& bound = *line.cell->repeats;
      if (!started.emplace(bound.gpu, bound.server->start()).second) continue;
      line.busy_s += line.starts.seconds;
    }
    ++report.starts;
    report.starts_s += line.starts.seconds;
  }
}

void print_cells(const PlanReport& report, std::ostream& out) {
  analysis::Grid grid;
  grid.columns = {{"cell", ""},    {"key", "", false}, {"runs", "", false},
                  {"served", "s"}, {"worker", "s"},    {"what", "", false}};
  for (const PlanLine& line : report.lines) {
    const bool timed = line.cell->runs();
    grid.rows.push_back(
        {std::to_string(line.cell->cell.index), line.cell->key.substr(0, 8),
         line.runs ? "yes" : "no", timed ? analysis::four_digits(line.served_s) : "-",
         timed ? analysis::four_digits(line.busy_s) : "-",
         worker::label(line.cell->cell) + (line.why.empty() ? "" : ": " + line.why)});
  }
  print_text(grid, out);
}

std::string how_estimated(const PlanReport& report) {
  std::size_t to_run = 0, simulated = 0;
  for (const PlanLine& line : report.lines) {
    to_run += line.runs ? 1 : 0;
    simulated += line.simulated ? 1 : 0;
  }
  if (to_run == 0) return "Of cells that are done, what they took.";
  if (simulated == 0) return "Both are estimates from the cost model.";
  if (simulated == to_run) return "All cells that are to run were simulated for it.";
  return std::to_string(simulated) + " of " + std::to_string(to_run) +
         " cells that are to run were simulated for it; the others are estimates, scaled by the "
         "simulated cells that are most like them.";
}

/// Values that are likely meant in another unit.
void print_unlikely(const Plan& plan, std::ostream& out) {
  constexpr double kMost = 1000;
  for (const auto& [key, unit, meant] :
       {std::tuple<std::string, const char*, const char*>{"workload.gap_s", " seconds",
                                                          ": are milliseconds meant?"},
        {"jps", " jobs a second", ""}})
    for (const PlannedCell& planned : plan.cells) {
      const auto found = planned.cell.params.find(key);
      if (!planned.selected || !planned.runs() || found == planned.cell.params.end()) continue;
      if (!(analysis::number_of(found->second.value) >= kMost)) continue;
      out << "kvsweep: " << analysis::terminal_text(sweep::to_text(found->second.where)) << ": "
          << key << " is " << sweep::bare_text(found->second.value) << unit << ", more than "
          << kMost << meant << '\n';
      break;
    }
}

}  // namespace

PlanReport report_plan(const Plan& plan, const PlanRules& rules,
                       const std::optional<std::filesystem::path>& archive) {
  std::optional<sweep::ArchiveReader> reader;
  std::optional<PlanHistory> known;
  if (archive)
    known.emplace(reader.emplace(open_archive(archive->string())), archive->string(),
                  plan.spec.name);
  const PlanHistory* history = known ? &*known : nullptr;
  PlanReport report;
  report.lines.reserve(plan.cells.size());
  worker::WorkloadCache workloads;
  for (const PlannedCell& planned : plan.cells)
    if (planned.selected)
      report.lines.push_back(line_of(planned, plan.least, history, rules, workloads));
  add_starts(report);
  if (history != nullptr) report.kept = history->unplanned(plan);
  return report;
}

void print_plan(const Plan& plan, const PlanReport& report, std::ostream& out) {
  const bool has_real_tiers = plan.backend != "sim";  // which only counts their blocks
  out << plan.spec.name << ": " << plan.cells.size() << " cells, backend " << plan.backend
      << "\n\n";
  print_cells(report, out);
  out << '\n';
  analysis::Grid grid;
  grid.columns = {
      {"gpu", "", false}, {"cells", ""}, {"to run", ""}, {"served", "s"}, {"worker", "s"}};
  if (has_real_tiers) grid.columns.push_back({"host tier", "GiB a cell"});
  double largest_gib = 0;
  for (const auto& [sku, total] : totals_by_sku(report)) {
    largest_gib = std::max(largest_gib, total.host_gib);
    std::vector<std::string> row = {sku, std::to_string(total.cells), std::to_string(total.to_run),
                                    analysis::four_digits(total.served_s),
                                    analysis::four_digits(total.busy_s)};
    if (has_real_tiers) row.push_back(analysis::four_digits(total.host_gib));
    grid.rows.push_back(row);
  }
  print_text(grid, out);
  out << "\nserved: expected time on the cell's clock; worker: expected time of one worker. "
      << how_estimated(report) << " The second table counts what is to run.\n";
  if (report.starts > 0)
    out << "starts of servers: " << report.starts << ", " << analysis::four_digits(report.starts_s)
        << " s of the worker's time, guessed: a minute to compile (llama-server: none), and the "
           "weights at 1 GB/s.\n";
  if (has_real_tiers)
    out << "host memory: the largest cell takes " << analysis::four_digits(largest_gib)
        << " GiB; cells that do not fit a node together wait for each other (--node-memory-gib "
           "says how much a node has).\n";
  std::set<std::string> assumed;
  for (const PlanLine& line : report.lines) assumed.insert(line.assumed);
  for (const std::string& text : assumed)
    if (!text.empty()) out << analysis::terminal_text(text) << '\n';
  if (report.kept > 0) out << "In the archive " << analysis::kept_text(report.kept) << ".\n";
}

void print_plan_json(const Plan& plan, const PlanReport& report, std::ostream& out) {
  analysis::Json json = {{"name", plan.spec.name}, {"backend", plan.backend}};
  analysis::Json& cells = json["cells"] = analysis::Json::array();
  for (const PlanLine& line : report.lines) {
    const sweep::Cell& cell = line.cell->cell;
    cells.push_back({{"cell", cell.index},
                     {"key", line.cell->key},
                     {"label", worker::label(cell)},
                     {"gpu", line.cell->gpu()},
                     {"status", sweep::to_text(cell.status)},
                     {"runs", line.runs},
                     {"why", line.why},
                     {"estimated", line.estimated},
                     {"simulated", line.simulated},
                     {"served_s", line.served_s},
                     {"worker_s", line.busy_s},
                     {"host_gib", line.host_gib}});
  }
  json["record"] = sweep::to_text(plan.record);
  analysis::write_line(json, out);
}

void print_keys_without_effect(const Plan& plan, std::ostream& out) {
  print_unlikely(plan, out);
  std::map<std::string, sweep::Location> given;
  std::set<std::string> counting;  // in a cell that is selected
  std::set<std::string> in_any;    // in a cell
  for (const PlannedCell& planned : plan.cells) {
    if (!planned.runs()) continue;
    const std::set<std::string>& own = *planned.repeats->counting;
    in_any.insert(own.begin(), own.end());
    if (!planned.selected) continue;
    for (const auto& [key, param] : planned.cell.params) given.try_emplace(key, param.where);
    counting.insert(own.begin(), own.end());
  }
  // Cells lack an axis that does not count in them.
  for (const sweep::Axis& axis : plan.spec.axes)
    if (!in_any.empty() && !in_any.contains(axis.name)) given.try_emplace(axis.name, axis.where);
  const worker::KeyTable& table = worker::sweep_keys();
  bool told_of_server = false;
  for (const auto& [key, where] : given) {
    if (counting.contains(key) || !table.has(key)) continue;
    const bool elsewhere = table.has_no_effect_on(plan.backend, key);
    const bool of_server = elsewhere && key.starts_with("server.");
    if (of_server && std::exchange(told_of_server, true)) continue;
    const std::string why = elsewhere ? " on backend " + plan.backend
                                      : ": it counts where " + table.where_in_words(key);
    out << "kvsweep: " << analysis::terminal_text(sweep::to_text(where)) << ": "
        << (of_server ? "server.* (all but the sim of profiles)" : key) << " has no effect" << why
        << '\n';
  }
}

}  // namespace driver
