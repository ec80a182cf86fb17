#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "analysis/cell_summary.hpp"
#include "driver/archive_sink.hpp"
#include "driver/commands/commands.hpp"
#include "driver/run_setup.hpp"
#include "driver/trace_folder.hpp"
#include "sweeps/archive_reader.hpp"
#include "workers/cell_job.hpp"
#include "workers/channel.hpp"

namespace driver {
namespace {

/// The plan of a command line whose workers are known to be able to serve.
Plan checked_plan(const Options& options) {
  check_device(options);
  if (options.jsonl) make_trace_folder(*options.jsonl);
  return make_plan(options.arguments.front(), options);
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

void tell_workers_to_leave(worker::Channel& channel, int size) {
  for (int rank = 1; rank < size; ++rank) channel.send(rank, worker::Stop{});
  channel.flush(std::chrono::seconds(5));
}

/// Cells go to the other ranks, or, when there are none, to a thread of this process.
FarmResult farm_cells(const Options& options, OpenRun& run, worker::MpiChannel* channel,
                      const DrainSignals& signals) {
  if (run.tasks.empty() && channel == nullptr) return {};
  ProgressLine progress(std::cerr, isatty(STDERR_FILENO) != 0);
  ArchiveSink sink(run.plan, options.profiles.string(), run.archive, options.scratch.string(),
                   progress);
  FarmOptions farm = farm_options(options, run.plan.backend, signals);
  if (channel == nullptr) {
    const worker::Hello self = worker_hello(options, run.plan.backend);
    return run_alone(run.tasks, sink, farm, self,
                     worker::make_cell_runner(self, 0, options.scratch.string()));
  }
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
  const auto ok = [](const analysis::CellReport& report) {
    return report.status == sweep::CellStatus::ok;
  };
  std::cout << '\n'
            << std::ranges::count_if(reports, ok) << " of " << reports.size()
            << " cells have a result\n";
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
    if (channel != nullptr) tell_workers_to_leave(*channel, channel->place().size);
    throw;
  }
  std::cout << run->plan.spec.name << ": " << run->plan.cells.size() << " cells, backend "
            << run->plan.backend << (run->plan.backend == "sim" ? " (modelled, virtual time)" : "")
            << std::endl;
  const FarmResult result = farm_cells(options, *run, channel, signals);
  run->archive.finalize();
  print_results(*run, result);
  if (options.jsonl) write_trace_folder(*options.jsonl, run->plan, run->path);
  const ExitCode code = run_code(result, run->plan, run->archive);
  // What hangs in a cell can neither be joined nor take part in MPI_Finalize; all results are safe.
  if (!result.stuck_workers.empty()) std::_Exit(code);
  return code;
}

bool told_to_leave(worker::Channel& channel, engine::Nanos longest) {
  const engine::WallClock clock;
  while (clock.now() < longest) {
    while (const std::optional<worker::Received> received = channel.poll())
      if (std::holds_alternative<worker::Stop>(received->message)) return true;
    channel.wait(std::chrono::milliseconds(20));
  }
  return false;
}

/// Ends a worker that cannot serve, without MPI_Finalize: that would wait for a driver that waits
/// for the worker. mpirun then ends the job.
[[noreturn]] void give_up(int rank, const std::exception& error, ExitCode code) {
  const std::string text =
      "kvsweep: worker of rank " + std::to_string(rank) + ": " + error.what() + '\n';
  std::cerr << text << std::flush;
  std::_Exit(code);
}

int serve(const worker::Hello& self, const Options& options, worker::MpiChannel& channel) {
  engine::WallClock clock;
  const auto runner =
      worker::make_cell_runner(self, channel.place().rank, options.scratch.string());
  const worker::WorkerEnd end = worker::run_worker(channel, clock, self, runner);
  if (end == worker::WorkerEnd::stuck) std::_Exit(kInternalError);
  return kOk;
}

int work(const Options& options, worker::MpiChannel& channel) {
  ignore_drain_signals();
  try {
    // The driver alone reads the sweep file; which backend a worker serves it learns from its
    // first cell.
    return serve(worker_hello(options, options.backend.value_or("sim")), options, channel);
  } catch (const worker::InputError& error) {
    // The driver, which has the same command line, finds the same unless this node differs.
    if (told_to_leave(channel, std::chrono::seconds(10))) return kOk;
    give_up(channel.place().rank, error, kUsage);
  } catch (const std::exception& error) {
    give_up(channel.place().rank, error, kInternalError);
  }
}

}  // namespace

int run(const Options& options) {
  if (!options.in_mpi_job) return drive(options, nullptr);
  worker::MpiChannel channel;
  if (channel.place().size == 1) return drive(options, nullptr);
  return channel.place().rank == 0 ? drive(options, &channel) : work(options, channel);
}

}  // namespace driver
