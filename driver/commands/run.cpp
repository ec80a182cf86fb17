#include <unistd.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <set>

#include "analysis/ranking/answer.hpp"
#include "analysis/ranking/policy_table.hpp"
#include "analysis/ranking/sentences.hpp"
#include "analysis/text/escape.hpp"
#include "analysis/text/list.hpp"
#include "driver/commands/commands.hpp"
#include "driver/plan/history.hpp"
#include "driver/plan/plan.hpp"
#include "driver/plan/report.hpp"
#include "driver/run/archive_sink.hpp"
#include "driver/run/setup.hpp"
#include "driver/run/workers.hpp"
#include "driver/search/commands.hpp"
#include "sweeps/archive/reader.hpp"
#include "workers/rank/channel.hpp"

namespace driver {
namespace {

/// Whether the cell's server runs on a GPU, whatever else it could run on.
bool needs_gpu(const PlannedCell& planned) {
  if (!planned.repeats->server) return false;
  const server::Kind kind = planned.repeats->server->kind;
  return kind == server::Kind::vllm || kind == server::Kind::sglang;
}

/// The plan of the run. Throws UsageError when the workers of this command line cannot serve it.
Plan checked_plan(const Options& options) {
  check_device(options);
  worker::WorkloadCache workloads;
  const bool all_count = !options.resume && !options.cell;  // none is done or left out
  Plan plan = make_plan(options.arguments.front(), options, all_count ? &workloads : nullptr);
  if (plan.backend == "cuda" && options.as_sku)
    throw UsageError("--as-sku is for sim and cpu: on cuda a worker is what its GPU is");
  if (plan.backend == "server" && options.as_sku && std::ranges::any_of(plan.cells, needs_gpu))
    throw UsageError(
        "--as-sku is for server.kind llamacpp and openai: other servers need the GPU "
        "that they are measured on");
  first_to_run(plan);
  return plan;
}

/// Keys of the cells that the archive has results for; none with --fresh.
std::set<std::string> results_to_keep(const Options& options, const Plan& plan,
                                      const std::string& path) {
  return options.fresh ? std::set<std::string>() : sweep::merged_results(path, plan.least);
}

/// The cells of the plan, as the archive will have them.
std::vector<sweep::CellRecord> records_of(const Plan& plan, const Options& options,
                                          const std::string& path) {
  const bool all = std::ranges::all_of(plan.cells, &PlannedCell::selected);
  if (all || options.fresh || ::access(path.c_str(), F_OK) != 0) return planned_records(plan);
  const sweep::ArchiveReader archive(path);
  return PlanHistory(archive, path, plan.spec.name).records_of(plan);
}

/// A plan, its archive, opened, and the cells left to run. Members are in an order that reports
/// wrong input before the archive is touched, and a full disk before a cell runs.
struct OpenRun {
  Plan plan;
  std::string path;
  std::map<int, double> expected_s;
  sweep::FileOps files;
  sweep::Archive archive;
  std::vector<CellTask> tasks;
  ProgressLine progress{std::cerr, isatty(STDERR_FILENO) != 0};
  SpaceWait with_space;

  explicit OpenRun(const Options& options)
      : plan(checked_plan(options)),
        path(archive_path(options, plan.spec.name)),
        expected_s(expected_seconds(plan, results_to_keep(options, plan, path))),
        archive(path, archive_options(options, plan, *options.signals),
                records_of(plan, options, path), files),
        tasks(tasks_left(plan, expected_s, archive, options.retry_quarantined)),
        with_space(space_wait(options, *options.signals, archive, progress)) {
    if (!tasks.empty()) archive.check_room();
  }
};

std::unique_ptr<OpenRun> open_run(const Options& options) {
  try {
    return std::make_unique<OpenRun>(options);
  } catch (const sweep::ArchiveNoSpace& error) {
    throw sweep::ArchiveWriteFailed(error.what());  // nothing has run that could be continued
  }
}

/// How many processes of this machine may run cells. A cell on sim uses one core, on other backends
/// all of its device.
int most_local_workers(const Options& options, const Plan& plan) {
  return plan.backend == "sim" ? options.workers.value_or(worker_hello(options).cores) : 1;
}

FarmResult farm_locally(const Options& options, OpenRun& run, FarmOptions farm) {
  const int most = most_local_workers(options, run.plan);
  const auto sink = archive_sink(run.plan, options.profiles.string(), run.archive, run.with_space,
                                 run.progress, most == 1 ? Crew::one_child : Crew::several);
  const int count = std::clamp(most, 1, static_cast<int>(run.tasks.size()));
  LocalWorkers workers(count, [&](worker::Channel& channel) {
    return serve_cells(options, channel, {}, worker::Welcome{.backend = run.plan.backend});
  });
  farm.workers = workers.numbers();
  const engine::WallClock clock;
  return run_farm(workers, clock, run.tasks, *sink, farm);
}

FarmResult farm_ranks(const Options& options, OpenRun& run, FarmOptions farm,
                      worker::MpiChannel& channel) {
  const auto sink =
      archive_sink(run.plan, options.profiles.string(), run.archive, run.with_space, run.progress);
  worker::Welcome welcome{.backend = run.plan.backend};
  if (run.plan.backend == "cuda" && !run.tasks.empty())
    welcome.model_of = sink->config_of({run.tasks.front().cell});
  welcome_workers(channel, std::move(welcome));
  for (int rank = 1; rank < channel.place().size; ++rank) farm.workers.push_back(rank);
  const engine::WallClock clock;
  return run_farm(channel, clock, run.tasks, *sink, farm);
}

FarmResult farm_cells(const Options& options, OpenRun& run, worker::MpiChannel* channel,
                      const std::function<void()>& on_stuck) {
  FarmOptions farm = farm_options(options, run.plan.backend, *options.signals);
  farm.on_stuck = on_stuck;
  if (channel != nullptr) return farm_ranks(options, run, std::move(farm), *channel);
  return run.tasks.empty() ? FarmResult() : farm_locally(options, run, std::move(farm));
}

/// Prints the assumptions of converters of traces.
void print_assumed(const std::vector<analysis::ConfiguredCell>& cells) {
  std::set<std::string> assumed;
  for (const analysis::ConfiguredCell& cell : cells)
    for (const sweep::Note& note : cell.record->notes)
      if (note.name == "assumed") assumed.insert(note.text);
  for (const std::string& text : assumed) std::cout << analysis::terminal_text(text) << '\n';
}

/// The cells left for the next run, a line for each reason: "4 cells, 0 to 3: no time is left".
std::vector<std::string> left_lines(const OpenRun& run, const FarmResult& result) {
  std::map<int, std::string> left;
  for (const sweep::CellRecord& record : run.archive.cells()) {
    const PlannedCell& planned = run.plan.cells[static_cast<std::size_t>(record.index)];
    if (planned.selected && record.status == sweep::CellStatus::planned)
      left[planned.cell.index] = "its result was damaged and is set aside";
  }
  for (const LeftCell& cell : result.left) left[cell.cell] = cell.reason;
  std::map<std::string, std::set<int>> by_reason;
  for (const auto& [cell, reason] : left) by_reason[reason].insert(cell);
  std::vector<std::string> lines;
  for (const auto& [reason, cells] : by_reason)
    lines.push_back((cells.size() == 1 ? "cell " : std::to_string(cells.size()) + " cells, ") +
                    sweep::joined(analysis::ranges_of(cells, 2)) + ": " + reason);
  return lines;
}

void print_left(const OpenRun& run, const FarmResult& result, const Options& options) {
  const std::vector<std::string> left = left_lines(run, result);
  for (const std::string& line : left)
    std::cout << "left: " << analysis::terminal_text(line) << '\n';
  if (!left.empty())
    std::cout << "To go on" << (options.in_mpi_job ? ", under mpirun as before" : "")
              << ": kvsweep " << analysis::terminal_text(options.command_to_resume) << '\n';
}

/// At most twelve lines; of the others their number.
void print_some(const std::vector<std::string>& lines, const std::string& before) {
  constexpr std::size_t kMost = 12;
  for (std::size_t i = 0; i < std::min(kMost, lines.size()); ++i)
    std::cout << before << analysis::terminal_text(lines[i]) << '\n';
  if (lines.size() > kMost)
    std::cout << before << "and " << lines.size() - kMost << " more: see kvsweep report\n";
}

/// Which policy is best where, as `report` says it.
void print_answer(std::span<const sweep::CellRecord> records) {
  const std::vector<analysis::ConfiguredCell> cells(records.begin(), records.end());
  const auto rows = analysis::arrange(analysis::with_results(cells));
  const analysis::Answer answer = analysis::answer_of(rows);
  if (answer.lines.empty()) return;
  std::cout << answer.heading << ":\n";
  print_some(analysis::mapped(answer.lines, &analysis::AnswerLine::text), "  ");
  std::cout << '\n';
}

/// Why cells have no result, a line for each reason.
std::vector<std::string> reasons_of(std::span<const analysis::ConfiguredCell> cells) {
  std::map<std::pair<std::string, std::string>, int> counts;  // by status and reason
  for (const analysis::ConfiguredCell& cell : cells)
    if (const auto status = cell.record->status;
        status != sweep::CellStatus::ok && status != sweep::CellStatus::planned)
      ++counts[{std::string(sweep::to_text(status)), cell.record->reason}];
  std::vector<std::string> lines;
  for (const auto& [why, count] : counts)
    lines.push_back(why.first + ": " + std::to_string(count) +
                    (count == 1 ? " cell: " : " cells: ") + why.second);
  return lines;
}

/// The policies as `table` prints them, and how many cells have a result.
void print_cells(const OpenRun& run) {
  constexpr std::size_t kMost = 12;  // tables
  std::vector<analysis::ConfiguredCell> cells;
  for (std::size_t i = 0; i < run.plan.cells.size(); ++i)
    if (run.plan.cells[i].selected) cells.emplace_back(run.archive.cells()[i]);
  const auto tables = analysis::policy_tables(analysis::arrange(analysis::with_results(cells)),
                                              std::string(analysis::kAnswerFigure), {});
  std::cout << '\n';
  if (!tables.empty())
    print_policy_tables(std::span(tables).first(std::min(kMost, tables.size())),
                        analysis::GridFormat::text, std::cout);
  if (tables.size() > kMost)
    std::cout << "and " << tables.size() - kMost << " more tables: see kvsweep table\n";
  print_some(reasons_of(cells), "");
  const auto count = [&](sweep::CellStatus status) {
    return std::ranges::count(cells, status, [](const auto& cell) { return cell.record->status; });
  };
  const auto total = std::ranges::ssize(cells), excluded = count(sweep::CellStatus::excluded);
  std::cout << '\n'
            << count(sweep::CellStatus::ok) << " of " << total - excluded << " cells have a result";
  if (excluded > 0) std::cout << "; " << excluded << " excluded";
  if (const std::size_t kept = run.archive.kept().size(); kept > 0)
    std::cout << "; " << analysis::kept_text(kept) << ": kvsweep status lists them";
  std::cout << '\n';
  print_assumed(cells);
  std::cout << '\n';
}

void print_results(const OpenRun& run, const FarmResult& result, const Options& options) {
  print_cells(run);
  print_answer(run.archive.cells());
  print_left(run, result, options);
  std::cout << "Results: " << analysis::terminal_text(run.path) << std::endl;
}

/// How many cells run again because less of them is stored than is asked for.
void print_replaced(const OpenRun& run, std::ostream& out) {
  std::size_t cells = 0;
  sweep::RecordLevel lowest = sweep::RecordLevel::all;
  for (const CellTask& task : run.tasks) {
    const sweep::CellRecord& record = run.archive.cells()[static_cast<std::size_t>(task.cell)];
    if (record.status != sweep::CellStatus::ok) continue;
    ++cells;
    lowest = std::min(lowest, record.level);
  }
  if (cells == 0) return;
  out << "kvsweep: " << cells << (cells == 1 ? " cell is" : " cells are")
      << " stored below the level " << sweep::to_text(run.plan.least) << " and "
      << (cells == 1 ? "runs" : "run") << " again; --record " << sweep::to_text(lowest)
      << " leaves them as they are\n";
}

void store_the_rest(OpenRun& run, const FarmResult& result) {
  const std::vector<std::string> left = left_lines(run, result);
  if (!left.empty())
    run.with_space([&] { run.archive.describe_run(kLeft, sweep::joined(left, "\n")); });
  // A run without a result also says which GPUs or servers there were in place of the planned ones.
  if (std::ranges::any_of(result.left, [](const LeftCell& cell) {
        return cell.why == LeftCell::Why::no_worker || cell.why == LeftCell::Why::wrong_server;
      }))
    run.with_space([&] { run.archive.keep_description(); });
  run.with_space([&] { run.archive.finalize(); });
}

int drive(
    const Options& options, worker::MpiChannel* channel,
    const std::function<void()>& on_stuck = [] {}) {
  std::unique_ptr<OpenRun> run;
  try {
    run = open_run(options);
  } catch (...) {
    if (channel != nullptr) dismiss_workers(*channel);
    throw;
  }
  std::cout << run->plan.spec.name << ": " << run->plan.cells.size() << " cells, backend "
            << run->plan.backend << (run->plan.backend == "sim" ? " (modelled, virtual time)" : "")
            << std::endl;
  print_keys_without_effect(run->plan, std::cerr);
  print_replaced(*run, std::cerr);
  const FarmResult result = farm_cells(options, *run, channel, on_stuck);
  store_the_rest(*run, result);
  print_results(*run, result, options);
  const ExitCode code = run_code(result, run->plan, run->archive);
  // A rank that hangs in a cell would block MPI_Finalize. All results are stored by now.
  if (channel != nullptr && !result.stuck_workers.empty()) {
    check_standard_output();
    run.reset();  // releases the lock of the archive
    worker::abort_job(code);
  }
  return code;
}

/// Rank 0. After an error, too, MPI_Finalize would wait for a worker that hangs.
int drive_farm(const Options& options, worker::MpiChannel& channel) {
  bool stuck = false;
  try {
    return drive(options, &channel, [&stuck] { stuck = true; });
  } catch (...) {
    if (!stuck) throw;
    const ExitCode code = report_failure();
    std::cout.flush();
    worker::abort_job(code);
  }
}

}  // namespace

int run(const Options& options) {
  if (options.until_decided) return run_until_decided(options);
  if (options.budget || options.launch)
    throw UsageError("--budget and --launch are for --until-decided");
  if (options.in_mpi_job) {
    const auto channel = worker::join_world(options.on_one_host);
    if (channel->place().rank > 0) return serve_cells(options, *channel, channel->place());
    if (channel->place().size > 1) return drive_farm(options, *channel);
  }  // MPI ends, with its threads: this process forks workers
  report_lone_task(options);
  return drive(options, nullptr);
}

}  // namespace driver
