// Times the cuda backend with a whole model of random weights on device 0:
//   time_backend [MODEL of sweeps/models] [host GiB]      # in the repository's folder
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string>
#include <vector>

#include "workers/backends/cuda/cuda_device.hpp"
#include "workers/engine/base/clock.hpp"
#include "workers/engine/step/step.hpp"
#include "workers/profiles/profiles.hpp"

namespace {

using engine::to_seconds;

/// Requests with leading tokens that count as computed, and the steps over them.
class Batch {
 public:
  Batch(int vocab, int sequences, int context, int block_size)
      : prompt_(static_cast<std::size_t>(context)) {
    for (std::size_t i = 0; i < prompt_.size(); ++i)
      prompt_[i] = static_cast<engine::TokenId>((7 + 31 * i) % static_cast<std::size_t>(vocab));
    std::uint32_t block = 1;
    for (int s = 0; s < sequences; ++s) {
      engine::Request& request = requests_.emplace_back();
      request.spec.prompt = prompt_;
      for (int at = 0; at < context; at += block_size)
        request.blocks.push_back(engine::BlockId{block++});
    }
  }
  const engine::StepPlan& step(int first, int end, bool decode) {
    ++plan_.step;
    plan_.scheduled.clear();
    plan_.total_tokens = 0;
    for (engine::Request& request : requests_) {
      plan_.scheduled.push_back({&request, engine::SchedKind::running, end - first, first, 0,
                                 end == request.num_tokens(), decode});
      plan_.total_tokens += end - first;
    }
    return plan_;
  }

 private:
  std::vector<engine::TokenId> prompt_;
  std::deque<engine::Request> requests_;
  engine::StepPlan plan_;
};

struct Times {
  double wall, device, prepare, launch;  // medians, ms
};

double median(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

Times time_steps(backends::CudaCell& cell, const engine::StepPlan& plan, int repeats) {
  const engine::WallClock clock;
  std::vector<double> wall, device, prepare, launch;
  for (int i = 0; i < repeats + 3; ++i) {
    const backends::StepCost before = cell.steps();
    const engine::Nanos start = clock.now();
    cell.backend().execute(plan);
    const double seconds = to_seconds(clock.now() - start);
    const backends::StepCost& after = cell.steps();
    if (i < 3) continue;
    wall.push_back(1e3 * seconds);
    device.push_back(1e3 * (after.device - before.device));
    prepare.push_back(1e3 * (after.prepare - before.prepare));
    launch.push_back(1e3 * (after.launch - before.launch));
  }
  return {median(wall), median(device), median(prepare), median(launch)};
}

void print(const char* what, int size, int context, const Times& t) {
  std::printf("%-8s %5d x %6d   wall %8.3f  device %8.3f  prepare %6.3f  launch %7.3f ms\n", what,
              size, context, t.wall, t.device, t.prepare, t.launch);
  std::fflush(stdout);
}

void time_model(backends::CudaDevice& device, const model::ModelConfig& config) {
  backends::CudaCellOptions options;
  options.max_batched_tokens = 2048;
  options.max_model_len = 16384;
  const bool large = device.info().memory_bytes > std::int64_t{64} << 30;
  options.pool.kv_tokens = std::int64_t{large ? 256 : 128} * 1040;
  if (config.shape.kv_heads > 8) options.pool.kv_tokens = 64 * 1040;
  const engine::WallClock clock;
  const auto cell = device.make_cell(options);
  const backends::PoolPlan& pool = cell->pool();
  std::printf("cell made in %.2f s: activations %.2f GiB, pool %.1f GiB, %d blocks of %.1f MiB\n",
              to_seconds(clock.now()), static_cast<double>(cell->activation_bytes()) / (1 << 30),
              static_cast<double>(pool.bytes()) / (1 << 30), pool.num_blocks,
              static_cast<double>(pool.block_bytes) / (1 << 20));
  for (const int sequences : {1, 8, 32, 64, 96, 128, 160, 192, 256}) {
    const int context = 1024;
    if (sequences * context > pool.tokens()) continue;
    Batch batch(config.shape.vocab, sequences, context, options.block_size);
    print("decode", sequences, context,
          time_steps(*cell, batch.step(context - 1, context, true), 20));
  }
  for (const int tokens : {40, 72, 128, 512, 2048}) {
    Batch batch(config.shape.vocab, 1, std::min(tokens, config.shape.max_context),
                options.block_size);
    print("prefill", 1, tokens, time_steps(*cell, batch.step(0, tokens, false), 8));
  }
}

void time_host(backends::CudaDevice& device, const model::ModelConfig& config, double gib) {
  backends::CudaCellOptions options;
  options.pool.kv_tokens = 16384;
  const std::int64_t block_bytes =
      model::kv_bytes_per_token(config.shape) * std::int64_t{options.block_size};
  options.host_slots = static_cast<int>(gib * (1 << 30) / static_cast<double>(block_bytes));
  const auto cell = device.make_cell(options);
  cell->host_memory()->wait_ready();
  std::printf("host tier: %.1f GiB locked in %.2f s\n",
              static_cast<double>(cell->host_memory()->locked_bytes()) / (1 << 30),
              cell->host_memory()->locking_seconds());
  const int blocks = std::min(512, options.host_slots);
  std::vector<engine::BlockCopy> copies;
  for (int i = 0; i < blocks; ++i)
    copies.push_back({engine::BlockId{static_cast<std::uint32_t>(1 + i * 5 % 1000)},
                      engine::HostSlot{static_cast<std::uint32_t>(i * 7 % options.host_slots)}});
  const engine::WallClock clock;
  for (int round = 0; round < 3; ++round)
    for (const auto direction : {engine::CopyDirection::store, engine::CopyDirection::load}) {
      const engine::Nanos start = clock.now();
      cell->copier()->submit(direction, copies, start);
      const double submitted = to_seconds(clock.now() - start);
      cell->copier()->wait();
      const double seconds = to_seconds(clock.now() - start);
      std::vector<engine::CopyDone> done;
      cell->copier()->poll(clock.now(), done);
      const double bytes = static_cast<double>(blocks * block_bytes);
      std::printf("%s of %d blocks: %.2f ms, %.1f GB/s (%.1f while busy), submitted in %.3f ms\n",
                  direction == engine::CopyDirection::store ? "store" : "load ", blocks,
                  1e3 * seconds, bytes / seconds * 1e-9, bytes / to_seconds(done.at(0).busy) * 1e-9,
                  1e3 * submitted);
    }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "llama-3.1-8b";
  const double host_gib = argc > 2 ? std::atof(argv[2]) : 0;
  try {
    const model::ModelConfig config = worker::load_model_config("sweeps", name);
    const auto device = backends::open_cuda_device(0);
    const auto source = model::random_weights(config, 1);
    const auto report = device->load_weights(config, {.source = *source, .seed = 1, .group = {}});
    std::printf("%s on %s: %.2f GB of weights made in %.2f s\n", config.shape.name.c_str(),
                device->info().name.c_str(), static_cast<double>(report.bytes) * 1e-9,
                report.seconds);
    time_model(*device, config);
    if (host_gib > 0) time_host(*device, config, host_gib);
  } catch (const std::exception& error) {
    std::printf("failed: %s\n", error.what());
    return 1;
  }
}
