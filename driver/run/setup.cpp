#include "driver/run/setup.hpp"

#include <iostream>
#include <thread>

#include "analysis/text/escape.hpp"
#include "analysis/text/text_table.hpp"
#include "driver/version.hpp"
#include "workers/rank/host.hpp"
#include "workers/rank/sku_detector.hpp"

namespace driver {
namespace {

void say(const std::string& text) {
  std::fprintf(stderr, "kvsweep: %s\n", analysis::terminal_text(text).c_str());
}

/// Retries every 0.25 s, for at most --wait or until a signal arrives.
sweep::KeepWaiting waiting_for(const Options& options, const std::string& path,
                               const DrainSignals& signals) {
  if (!(options.wait_s > 0)) return {};
  const int tries = static_cast<int>(options.wait_s * 4);
  const std::string until = "; waiting for it, --wait " + analysis::four_digits(options.wait_s);
  return [=, &signals, tried = 0](const sweep::LockHolder& holder) mutable {
    if (tried == 0) say(sweep::ArchiveInUse(path, holder).what() + until);
    if (++tried > tries || signals.count() > 0) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
    return true;
  };
}

std::vector<sweep::Note> provenance_of(const Options& options) {
  const worker::Host host = worker::detect_host();
  return {{"started_utc", engine::utc_now(), true},
          {"command", options.command_line, true},
          {"host", host.name, true},
          {"slurm_job", options.slurm_job, true},
          {"kvsweep", kProgram, true},
          {"compiler", kCompiler, true},
          {"mpi", kMpiVersion, true},
          {"hdf5", kHdf5Version, true},
          {"cuda", kCudaVersion, true}};
}

/// Seconds until this run must have ended; empty without a limit.
std::optional<double> seconds_left(const Options& options) {
  std::optional<double> left = options.time_limit_s;
  if (options.end_time) {
    const double until = engine::seconds_until(*options.end_time);
    left = left ? std::min(*left, until) : until;
  }
  return left;
}

/// The GPU that --as-sku or --fake-device gives the worker; empty fields without either.
worker::Hello name_device(const Options& options) {
  worker::Hello hello;
  if (options.as_sku) {
    worker::load_gpu_profile(options.profiles, *options.as_sku);  // throws on an unknown name
    hello.sku = *options.as_sku;
    hello.sku_source = "--as-sku";
  } else if (options.fake_device) {
    const worker::DeviceIdentity device = worker::parse_device(*options.fake_device);
    hello.sku = worker::detect_sku(options.profiles, device);
    hello.sku_source = "--fake-device";
    hello.device_name = device.name;
    hello.device_mib = device.memory_mib;
  }
  return hello;
}

}  // namespace

std::string archive_path(const Options& options, const std::string& sweep_name) {
  namespace fs = std::filesystem;
  const fs::path path = options.archive.value_or(sweep_name + ".h5");
  const fs::path folder = path.has_parent_path() ? path.parent_path() : ".";
  std::error_code error;
  if (path.empty() || fs::is_directory(path, error))
    throw UsageError("--archive must name a file, found \"" + path.string() + '"');
  if (error == std::errc::too_many_symbolic_link_levels)
    throw UsageError("--archive " + path.string() + ": " + error.message());
  if (!fs::is_directory(folder))
    throw UsageError("--archive " + path.string() + ": there is no folder " + folder.string());
  return path.string();
}

sweep::ArchiveOptions archive_options(const Options& options, const Plan& plan,
                                      const DrainSignals& signals) {
  sweep::ArchiveOptions archive;
  archive.sweep_name = plan.spec.name;
  archive.spec_text = plan.spec.text;
  archive.tool_version = kProgram;
  archive.now_utc = engine::utc_now();
  archive.mode = options.resume  ? sweep::OpenMode::resume
                 : options.fresh ? sweep::OpenMode::fresh
                                 : sweep::OpenMode::resume_or_create;
  archive.keep_previous = !options.no_prev;
  archive.record = plan.least;
  // Simulated cells may end faster than a driver merges them, and wait while it does.
  if (plan.backend == "sim") archive.most_shards = 2048;
  const worker::Host host = worker::detect_host();
  archive.cores = host.cores;
  archive.self = {host.name, host.pid, options.slurm_job};
  archive.keep_waiting = waiting_for(options, archive_path(options, plan.spec.name), signals);
  archive.provenance = provenance_of(options);
  archive.warn = say;
  archive.progress =
      MergeReporter(std::cerr, [clock = engine::WallClock()] { return clock.now(); });
  return archive;
}

FarmOptions farm_options(const Options& options, const std::string& backend,
                         const DrainSignals& signals) {
  FarmOptions farm;
  farm.rules.backend = backend;
  // No cell of a simulation needs a process of its own, and a commit takes longer than a tiny one.
  if (backend == "sim") farm.rules.together = std::chrono::milliseconds(50);
  if (const auto left = seconds_left(options)) farm.rules.deadline = engine::from_seconds(*left);
  // A limit from the user applies as given; the scheduler's needs room for the end of the run.
  if (!options.end_time) farm.rules.margin = Nanos{0};
  if (options.cell_timeout_s)
    farm.rules.cell_timeout = engine::from_seconds(*options.cell_timeout_s);
  farm.interruptions = [&signals] { return signals.count(); };
  return farm;
}

SpaceWait space_wait(const Options& options, const DrainSignals& signals, sweep::Archive& archive,
                     ProgressLine& progress) {
  const std::optional<double> left_s = seconds_left(options);
  const double margin_s = options.end_time ? engine::to_seconds(DispatchRules{}.margin) : 0;
  SpaceWait wait;
  wait.longest_s = options.wait_space_s;
  wait.interruptions = [&signals, left_s, margin_s, clock = engine::WallClock()] {
    const bool late = left_s && engine::to_seconds(clock.now()) > *left_s - margin_s;
    return signals.count() + (late ? 1 : 0);
  };
  wait.say = [&progress](const std::string& text) { progress.report("kvsweep: " + text); };
  wait.on_pause = [&archive] { archive.heartbeat(); };
  return wait;
}

void report_lone_task(const Options& options) {
  if (options.tasks <= 1) return;
  say("there are " + std::to_string(options.tasks) +
      " tasks, but MPI sees only this process: if srun started them, each is a run of its own, and "
      "all but one find the archive in use; start them with mpirun, or with srun --mpi=pmix where "
      "`srun --mpi=list` has pmix");
}

void check_device(const Options& options) { name_device(options); }

worker::Hello worker_hello(const Options& options) {
  const worker::Host host = worker::detect_host(options.node_memory_gib);
  worker::Hello hello = name_device(options);
  hello.host = host.name;
  hello.pid = host.pid;
  hello.start_ticks = host.start_ticks;
  hello.cores = host.cores;
  hello.memory_gib = host.memory_gib;
  hello.slurm_job = options.slurm_job;
  hello.program = kProgram;
  hello.engine_digest = kEngineDigest;
  return hello;
}

ExitCode run_code(const FarmResult& result, const Plan& plan, const sweep::Archive& archive) {
  bool gone = false, failed = false;
  for (const sweep::CellRecord& record : archive.cells()) {
    const PlannedCell& cell = plan.cells[static_cast<std::size_t>(record.index)];
    if (!cell.selected) continue;
    // The farm counts the cell as done, but its result was damaged before it was merged.
    gone |= record.status == sweep::CellStatus::planned &&
            std::ranges::count(result.left, cell.cell.index, &LeftCell::cell) == 0;
    failed |= record.status == sweep::CellStatus::failed ||
              record.status == sweep::CellStatus::timeout ||
              record.status == sweep::CellStatus::quarantined;
  }
  if (gone) return kIncomplete;
  const ExitCode farm = exit_code(result);
  if (farm != kOk) return farm;
  return failed ? kSomeCellsFailed : kOk;
}

}  // namespace driver
