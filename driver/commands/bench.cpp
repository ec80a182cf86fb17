#include <cstdio>

#include "driver/command_line/failure.hpp"
#include "driver/commands/commands.hpp"
#include "driver/plan/plan.hpp"
#include "workers/tools/bench_gpu.hpp"
#include "workers/tools/benches.hpp"

namespace driver {
namespace {

void print_sim_header() {
  std::printf(
      "One core; workload generation and prompt hashing excluded. Blocks touched: allocated, "
      "shared, "
      "released or registered.\n");
  std::printf("%8s %10s %12s %12s %14s %14s %16s %16s\n", "jobs", "steps", "requests", "blocks",
              "engine", "recorded", "per request", "per block");
  std::printf("%8s %10s %12s %12s %14s %14s %16s %16s\n", "", "", "per step", "per step", "steps/s",
              "steps/s", "ns", "ns");
}

void print_sim(const worker::SimSpeed& speed, bool json) {
  const auto steps = static_cast<double>(speed.steps);
  const double requests = static_cast<double>(speed.scheduled) / steps;
  const double blocks = static_cast<double>(speed.blocks_touched) / steps;
  const double step_ns = speed.engine_s * 1e9 / steps;
  const char* format =
      json ? "{\"jobs\":%d,\"steps\":%llu,\"requests_per_step\":%.2f,\"blocks_per_step\":%.2f,"
             "\"engine_steps_per_s\":%.0f,\"recorded_steps_per_s\":%.0f,\"ns_per_request\":%.1f,"
             "\"ns_per_block\":%.1f}\n"
           : "%8d %10llu %12.1f %12.1f %14.0f %14.0f %16.0f %16.0f\n";
  std::printf(format, speed.jobs, static_cast<unsigned long long>(speed.steps), requests, blocks,
              steps / speed.engine_s, steps / speed.recorded_s, step_ns / requests,
              step_ns / blocks);
  std::fflush(stdout);
}

int bench_sim(const Options& options) {
  Options simulated = options;
  simulated.backend = "sim";
  const std::string sweep = options.arguments.size() > 1
                                ? options.arguments[1]
                                : (options.profiles / "experiments/bench-sim.toml").string();
  const Plan plan = make_plan(sweep, simulated);
  if (!options.json) print_sim_header();
  for (const PlannedCell& planned : plan.cells) {
    if (planned.selected && planned.runs())
      print_sim(worker::measure_sim(planned.config(), options.repeats), options.json);
  }
  return kOk;
}

void print_gpu(const worker::GpuFigure& figure, bool json) {
  const char* what = figure.what.c_str();
  const char* unit = figure.unit.c_str();
  if (json) {
    std::printf("{\"what\":\"%s\",\"value\":%.6g,\"unit\":\"%s\"", what, figure.value, unit);
    if (figure.bound)
      std::printf(",\"bound\":%.6g,\"ratio\":%.4f", *figure.bound, figure.value / *figure.bound);
    std::printf("}\n");
  } else {
    std::printf("%-52s %10.3f %-8s", what, figure.value, unit);
    if (figure.bound)
      std::printf(" bound %10.3f ratio %6.3f", *figure.bound, figure.value / *figure.bound);
    std::printf("\n");
  }
  std::fflush(stdout);
}

/// The bound of a time is the least that this device can reach, that of a rate the most.
int bench_gpu(const Options& options) {
  Options real = options;
  real.backend = "cuda";
  const std::string sweep = options.arguments.size() > 1
                                ? options.arguments[1]
                                : (options.profiles / "experiments/bench-gpu.toml").string();
  std::vector<worker::RequestLength> lengths;
  if (options.lengths) lengths = worker::read_lengths(*options.lengths);
  const Plan plan = make_plan(sweep, real);
  for (const PlannedCell& planned : plan.cells) {
    if (!planned.selected || !planned.runs()) continue;
    worker::measure_gpu({.config = planned.config(),
                         .cache = options.cache,
                         .offline = lengths,
                         .repeats = 10 * options.repeats},
                        [&](const worker::GpuFigure& figure) { print_gpu(figure, options.json); });
  }
  return kOk;
}

}  // namespace

int bench(const Options& options) {
  if (options.repeats < 1)
    throw UsageError("--repeats must be at least 1, found " + std::to_string(options.repeats));
  const std::string& what = options.arguments.front();
  if (what == "sim") return bench_sim(options);
  if (what == "gpu") return bench_gpu(options);
  throw UsageError("bench takes sim or gpu, found \"" + what + '"');
}

}  // namespace driver
