#include "tests/bench/bench_sim.hpp"

#include <algorithm>
#include <limits>

#include "workers/backends/sim/sim_backend.hpp"
#include "workers/cell/client.hpp"
#include "workers/engine/base/clock.hpp"
#include "workers/policies/factory.hpp"
#include "workers/record/recorder.hpp"

namespace worker {
namespace {

struct Counter final : engine::TraceSink {
  std::uint64_t steps = 0;
  std::uint64_t scheduled = 0;
  void on_step(const engine::StepTrace& trace) override {
    ++steps;
    scheduled += trace.plan->scheduled.size();
  }
};

struct Run {
  double seconds;
  std::uint64_t blocks_touched;
};

Run run_once(const ExperimentConfig& config, const Load& load, engine::TraceSink& sink) {
  const auto cost_model = backends::make_cost_model(config.cost_model, config.gpu, config.model);
  backends::SimBackend backend(*cost_model);
  engine::VirtualClock clock;
  const auto order = policies::make_order(config.policy);
  const auto retention = policies::make_retention(config.policy);
  engine::Engine engine(config.engine, clock, backend, *order, *retention, sink);
  Client client(load.workload, load.arrivals, 0, config.engine.kv.block_size, TokenUse::counted,
                engine);
  const engine::WallClock wall;
  serve(client, engine, clock, {});
  return {engine::to_seconds(wall.now()), engine.kv().num_changes()};
}

}  // namespace

SimSpeed measure_sim(const ExperimentConfig& config, int repeats) {
  WorkloadCache workloads;
  const Load load = workloads.load(config.workload, config.engine.scheduler.max_model_len);
  SimSpeed best;
  best.jobs = static_cast<int>(load.workload.jobs.size());
  best.engine_s = best.recorded_s = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repeats; ++i) {
    Counter counter;
    const Run run = run_once(config, load, counter);
    best.steps = counter.steps;
    best.scheduled = counter.scheduled;
    best.blocks_touched = run.blocks_touched;
    best.engine_s = std::min(best.engine_s, run.seconds);
    Recorder recorder(load.workload, config.bytes_per_block, config.engine.kv.block_size);
    best.recorded_s = std::min(best.recorded_s, run_once(config, load, recorder).seconds);
  }
  return best;
}

}  // namespace worker
