#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "analysis/cell_summary.hpp"
#include "driver/archive_sink.hpp"
#include "driver/commands/commands.hpp"
#include "driver/run_setup.hpp"
#include "driver/serve.hpp"
#include "driver/trace_folder.hpp"
#include "sweeps/archive_reader.hpp"
#include "workers/cell_job.hpp"
#include "workers/channel.hpp"
#include "workers/seat.hpp"

namespace driver {
namespace {

/// The plan of a command line whose workers are known to be able to serve.
Plan checked_plan(const Options& options) {
  check_device(options);
  if (options.jsonl) make_trace_folder(*options.jsonl);
  Plan plan = make_plan(options.arguments.front(), options);
  if (plan.backend == "cuda" && options.as_sku)
    throw UsageError("--as-sku is for sim and cpu: on cuda a worker is what its GPU is");
  return plan;
}

/// Keys of what is done already, unless everything starts anew.
std::set<std::string> results_to_keep(const Options& options, const std::string& path) {
  return options.fresh ? std::set<std::string>() : sweep::merged_results(path);
}

/// A plan, the archive that it goes into, open, and what is left to do. Whatever a user can get
/// wrong shows before the archive is touched.
struct OpenRun {
  Plan plan;
  std::string path;
  std::map<int, double> expected_s;
  sweep::FileOps files;
  sweep::Archive archive;
  std::vector<CellTask> tasks;

  explicit OpenRun(const Options& options)
      : plan(checked_plan(options)),
        path(archive_path(options, plan.spec.name)),
        expected_s(expected_seconds(plan, results_to_keep(options, path))),
        archive(path, archive_options(options, plan), planned_records(plan), files),
        tasks(tasks_left(plan, expected_s, archive, options.retry_quarantined)) {}
};

/// Cells go to the other ranks, or, when there are none, to a thread of this process.
FarmResult farm_cells(const Options& options, OpenRun& run, worker::MpiChannel* channel,
                      const DrainSignals& signals) {
  if (run.tasks.empty() && channel == nullptr) return {};
  ProgressLine progress(std::cerr, isatty(STDERR_FILENO) != 0);
  ArchiveSink sink(run.plan, options.profiles.string(), run.archive, options.scratch.string(),
                   progress);
  FarmOptions farm = farm_options(options, run.plan.backend, signals);
  if (channel == nullptr) {
    constexpr int kRank = 0, kLocalWorker = 0;
    const worker::Seat seat = worker::take_seat(worker_hello(options), run.plan.backend,
                                                kLocalWorker, options.profiles, options.cache);
    return run_alone(
        run.tasks, sink, farm, seat.hello,
        worker::make_cell_runner(seat.hello, kRank, options.scratch.string(), seat.executor));
  }
  const bool loads_model = run.plan.backend == "cuda" && !run.tasks.empty();
  welcome_workers(*channel, run.plan.backend,
                  loads_model ? sink.config_of(run.tasks.front().cell) : "");
  for (int rank = 1; rank < channel->place().size; ++rank) farm.workers.push_back(rank);
  const engine::WallClock clock;
  return run_farm(*channel, clock, run.tasks, sink, farm);
}

bool estimates_tokens(const analysis::CellReport& report) {
  return std::ranges::any_of(report.notes, [](const sweep::Note& note) {
    return note.name == "tokenizer" && note.text.starts_with("byte estimate");
  });
}

void print_results(const OpenRun& run, const FarmResult& result) {
  std::vector<analysis::CellReport> reports;
  for (std::size_t i = 0; i < run.plan.cells.size(); ++i) {
    const PlannedCell& planned = run.plan.cells[i];
    if (planned.selected) reports.push_back(report_of(planned, run.archive.cells()[i]));
  }
  std::cout << '\n';
  analysis::print_summary(reports, std::cout);
  const auto count = [&](sweep::CellStatus status) {
    return std::ranges::count(reports, status, &analysis::CellReport::status);
  };
  const auto total = std::ranges::ssize(reports), excluded = count(sweep::CellStatus::excluded);
  std::cout << '\n'
            << count(sweep::CellStatus::ok) << " of " << total - excluded << " cells have a result";
  if (excluded > 0) std::cout << "; " << excluded << " excluded";
  std::cout << '\n';
  if (std::ranges::any_of(reports, estimates_tokens)) {
    std::cout << "Token counts are estimated from bytes: workload.tokenizer names no vocabulary.\n";
  }
  std::cout << '\n';
  for (const LeftCell& left : result.left)
    std::cout << "left: cell " << left.cell << ": " << left.reason << '\n';
  std::cout << "Results: " << run.path << std::endl;
}

int drive(const Options& options, worker::MpiChannel* channel) {
  const DrainSignals signals;
  std::optional<OpenRun> run;
  try {
    run.emplace(options);
  } catch (...) {
    if (channel != nullptr) dismiss_workers(*channel);
    throw;
  }
  std::cout << run->plan.spec.name << ": " << run->plan.cells.size() << " cells, backend "
            << run->plan.backend << (run->plan.backend == "sim" ? " (modelled, virtual time)" : "")
            << std::endl;
  print_keys_without_effect(run->plan, std::cerr);
  const FarmResult result = farm_cells(options, *run, channel, signals);
  // Whoever looks for these cells learns from the archive, too, which GPUs there were instead.
  if (std::ranges::any_of(
          result.left, [](const LeftCell& cell) { return cell.why == LeftCell::Why::no_worker; }))
    run->archive.keep_description();
  run->archive.finalize();
  print_results(*run, result);
  if (options.jsonl) write_trace_folder(*options.jsonl, run->plan, run->path);
  const ExitCode code = run_code(result, run->plan, run->archive);
  // What hangs in a cell can neither be joined nor take part in MPI_Finalize; all results are safe.
  if (!result.stuck_workers.empty()) std::_Exit(code);
  return code;
}

}  // namespace

int run(const Options& options) {
  if (!options.in_mpi_job) return drive(options, nullptr);
  worker::MpiChannel channel;
  if (channel.place().size == 1) return drive(options, nullptr);
  return channel.place().rank == 0 ? drive(options, &channel) : serve_cells(options, channel);
}

}  // namespace driver
