// kvsweep_bench sim|gpu [SWEEP.toml] [--set KEY=VALUE]... [--repeats N] [--lengths FILE] [--json]
// Measures the simulator, or this machine's GPU and the engine on it; not a test.
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "driver/plan/plan.hpp"
#include "tests/bench/bench_gpu.hpp"
#include "tests/bench/bench_sim.hpp"

namespace {

using driver::Plan, driver::PlannedCell;

struct Arguments : driver::Options {
  std::string what, sweep;
  int times = 3;  // repeats, of which the best counts
  std::string
      lengths;  // file of the requests that a GPU serves at once: tokens of prompt and answer
};

Arguments arguments_of(const std::vector<std::string>& words) {
  Arguments given;
  const std::filesystem::path home = std::getenv("HOME") ? std::getenv("HOME") : "";
  if (!home.empty()) given.cache = home / ".cache/kvsweep";
  given.profiles = std::filesystem::path(KVSWEEP_SOURCE_DIR) / "sweeps";
  for (auto word = words.begin(); word != words.end(); ++word) {
    const auto value = [&] {
      if (word + 1 == words.end()) throw worker::InputError(*word + " needs a value");
      return *++word;
    };
    if (*word == "--json")
      given.json = true;
    else if (*word == "--set")
      given.set.push_back(value());
    else if (*word == "--repeats")
      given.times = std::max(1, std::atoi(value().c_str()));
    else if (*word == "--lengths")
      given.lengths = value();
    else
      (given.what.empty() ? given.what : given.sweep) = *word;
  }
  if (given.what != "sim" && given.what != "gpu")
    throw worker::InputError("the first argument must be sim or gpu, found \"" + given.what + '"');
  given.backend = given.what == "sim" ? "sim" : "cuda";
  if (given.sweep.empty())
    given.sweep = given.profiles / ("experiments/bench-" + given.what + ".toml");
  return given;
}

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

void bench_sim(const Arguments& given) {
  const Plan plan = driver::make_plan(given.sweep, given);
  if (!given.json) print_sim_header();
  for (const PlannedCell& planned : plan.cells)
    if (planned.runs()) print_sim(worker::measure_sim(planned.config(), given.times), given.json);
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
void bench_gpu(const Arguments& given) {
  std::vector<worker::RequestLength> lengths;
  if (!given.lengths.empty()) lengths = worker::read_lengths(given.lengths);
  const Plan plan = driver::make_plan(given.sweep, given);
  for (const PlannedCell& planned : plan.cells) {
    if (!planned.runs()) continue;
    worker::measure_gpu({.config = planned.config(),
                         .cache = given.cache,
                         .offline = lengths,
                         .repeats = 10 * given.times},
                        [&](const worker::GpuFigure& figure) { print_gpu(figure, given.json); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Arguments given = arguments_of({argv + 1, argv + argc});
    given.what == "sim" ? bench_sim(given) : bench_gpu(given);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "kvsweep_bench: " << error.what() << '\n';
    return 2;
  }
}
