// Simulator, host and device make the same decisions when steps take the same time.
#include <map>

#include "tests/cpu/random_serving.hpp"
#include "tests/engine/support/seeds.hpp"
#include "tests/gpu/backend/gpu_world.hpp"

using cpu_test::first_other_decision;
using cpu_test::Served;
using cpu_test::Serving;
using support::Dice;

namespace {

/// One model on the host and on the device, and every way to serve it in time that depends on the
/// plan alone.
class Conformance {
 public:
  explicit Conformance(model::Architecture architecture)
      : config_(gpu_backend_test::small_model(architecture, model::DType::bf16)),
        host_(config_, *model::random_weights(config_, 1), config_.dtype, 2),
        device_(gpu_backend_test::on_device(config_)) {}

  struct Load {
    std::vector<cpu_test::Job> jobs;
    Serving serving;
  };
  /// Blocks of sizes that the kernels support, and no host tier, because its copies end at
  /// arbitrary times.
  Load random_load(Dice& dice) const {
    auto jobs = cpu_test::random_jobs(dice, config_.shape.vocab, cpu_test::kMaxModelLen);
    return {std::move(jobs), cpu_test::random_serving(dice, config_.dtype, {8, 16, 32, 64})};
  }

  Served on_host(const Load& load) const { return serve(host_, load.jobs, load.serving); }
  Served on_device(const Load& load, const Served* answers = nullptr) const {
    const engine::KvConfig& kv = load.serving.engine.kv;
    const auto backend = gpu_backend_test::make_backend(
        device_, gpu_backend_test::small_cell(kv.num_blocks - 1, kv.block_size));
    return serve_on(*backend, load.jobs, load.serving, answers);
  }

 private:
  model::ModelConfig config_;
  backends::CpuWeights host_;
  backends::cuda::DeviceWeights device_;
};

void require_same_decisions(const Served& a, const Served& b, const Serving& serving) {
  const std::string found = first_other_decision(a, b);
  if (!found.empty()) throw std::logic_error(found + "\nwith " + describe(serving));
  if (a.answers != b.answers) throw std::logic_error("answers differ");
}

}  // namespace

TEST_CASE("simulator, host and device make the same decisions when their steps take equally long") {
  NEEDS_DEVICE;
  const auto architecture = GENERATE(model::Architecture::llama, model::Architecture::opt);
  const Conformance world(architecture);
  int steps = 0, preemptions = 0, hits = 0, pins = 0, evictions = 0;
  support::for_each_seed(40, [&](std::uint64_t seed) {
    Dice dice(seed);
    auto load = world.random_load(dice);
    load.serving.engine.async_scheduling = seed % 2 == 0;
    const Served host = world.on_host(load);
    require_same_decisions(host, world.on_device(load, &host), load.serving);
    require_same_decisions(host, simulate(load.jobs, load.serving, host), load.serving);
    steps += host.steps;
    preemptions += host.preemptions;
    hits += host.hit_tokens;
    pins += host.pins;
    evictions += host.evictions;
  });
  std::cout << "compared " << steps << " steps over " << preemptions << " preemptions, " << hits
            << " tokens of prefix hits, " << pins << " pins, " << evictions << " evictions\n";
  for (const int count : {preemptions, hits, pins, evictions}) CHECK(count > 0);
}

TEST_CASE("the simulator makes the same decisions as a device that samples freely") {
  NEEDS_DEVICE;
  const Conformance world(model::Architecture::llama);
  support::for_each_seed(40, [&](std::uint64_t seed) {
    Dice dice(seed);
    auto load = world.random_load(dice);
    load.serving.engine.async_scheduling = seed % 2 == 0;
    const Served device = world.on_device(load);
    require_same_decisions(device, simulate(load.jobs, load.serving, device), load.serving);
  });
}

TEST_CASE("a plugin decides on the simulator as on a device") {
  NEEDS_DEVICE;
  const Conformance world(model::Architecture::llama);
  std::map<std::string, int> decided;
  support::for_each_seed(20, [&](std::uint64_t seed) {
    Dice dice(seed);
    auto load = world.random_load(dice);
    cpu_test::let_plugin_decide(dice, KVSWEEP_TEST_PLUGINS "/arbitrary.so", load.serving);
    for (const std::string& axis : policies::plugin_axes(load.serving.policy)) ++decided[axis];
    const Served device = world.on_device(load);
    require_same_decisions(device, simulate(load.jobs, load.serving, device), load.serving);
  });
  CHECK(decided.size() == 6);
}

TEST_CASE("a device's pool larger by one block changes decisions") {
  NEEDS_DEVICE;
  const Conformance world(model::Architecture::llama);
  int differing = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Dice dice(seed);
    auto load = world.random_load(dice);
    const Served host = world.on_host(load);
    ++load.serving.engine.kv.num_blocks;
    differing += !first_other_decision(host, world.on_device(load, &host)).empty();
  }
  CHECK(differing > 0);
}
