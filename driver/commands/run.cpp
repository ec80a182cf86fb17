#include <unistd.h>

#include <iostream>

#include "analysis/cell_summary.hpp"
#include "analysis/new_file.hpp"
#include "analysis/trace_jsonl.hpp"
#include "driver/commands/commands.hpp"
#include "driver/exit_codes.hpp"
#include "driver/plan.hpp"
#include "driver/progress.hpp"
#include "workers/experiment.hpp"

namespace driver {
namespace {

namespace fs = std::filesystem;

/// "cell-007": sorts by plan order.
std::string file_prefix(const sweep::Cell& cell) {
  std::string number = std::to_string(cell.index);
  return "cell-" + std::string(number.size() < 3 ? 3 - number.size() : 0, '0') + number;
}

std::string outcome_text(const analysis::CellReport& report) {
  char text[80];
  std::snprintf(text, sizeof text, "mean jct_wall %.1f s, %.0f steps",
                analysis::figure_value(report, "jct_wall_mean_s"),
                analysis::figure_value(report, "steps"));
  return text;
}

analysis::CellReport run_cell(const PlannedCell& planned, const Options& options,
                              worker::WorkloadCache& workloads, ProgressLine& progress) {
  progress.begin_cell(sweep::label(planned.cell));
  if (!planned.bound) {
    progress.end_cell(std::string(sweep::to_text(planned.cell.status)) + ": " +
                      planned.cell.reason);
    return analysis::report_of(planned.cell, planned.key);
  }
  sweep::CellResult result = worker::run_experiment(
      planned.bound->config, workloads,
      {.progress = [&](const worker::Progress& p) { progress.update(p); }, .stop = {}});
  result.notes.push_back({"cell", sweep::label(planned.cell)});
  if (options.jsonl) analysis::write_trace(result, *options.jsonl / file_prefix(planned.cell));
  auto report = analysis::report_of(planned.cell, planned.key, std::move(result));
  progress.end_cell(outcome_text(report));
  return report;
}

void write_cells(const fs::path& folder, const std::vector<analysis::CellReport>& reports) {
  analysis::NewFile file(folder / "cells.jsonl");
  file.fill([&](std::ostream& out) { analysis::write_cells_jsonl(reports, out); });
  file.commit();
}

}  // namespace

int run(const Options& options) {
  const Plan plan = make_plan(options.arguments.front(), options);
  if (plan.cells.empty()) throw sweep::SpecError(plan.spec.path + ": no cell is left to run");
  if (options.jsonl) fs::create_directories(*options.jsonl);

  std::cout << plan.spec.name << ": " << plan.cells.size() << " cells, backend " << plan.backend
            << (plan.backend == "sim" ? " (modelled, virtual time)" : "") << std::endl;
  ProgressLine progress(std::cerr, isatty(STDERR_FILENO) != 0, static_cast<int>(plan.cells.size()));
  worker::WorkloadCache workloads;
  std::vector<analysis::CellReport> reports;
  for (const PlannedCell& planned : plan.cells)
    reports.push_back(run_cell(planned, options, workloads, progress));
  if (options.jsonl) write_cells(*options.jsonl, reports);
  std::cout << '\n';
  analysis::print_summary(reports, std::cout);
  if (options.jsonl)
    std::cout << "\nTraces: " << options.jsonl->string() << "/cell-*.jsonl, summary: cells.jsonl\n";
  return kOk;
}

}  // namespace driver
