// Every shipped policy computes the same on a device while KV is really copied to host memory and
// back, under checksums: the servings of the host's test of this name, for a sample of the kinds of
// preemption and of the schedulers.
#include "tests/cpu/random_serving.hpp"
#include "tests/engine/support/seeds.hpp"
#include "tests/gpu/backend/device_bench.hpp"

using namespace cpu_test;
using backends::Checks;
using backends::CopyFault;
using gpu_backend_test::DeviceBench;

namespace {

const Target kDevice = {"cuda", {8, 16, 24}};

DeviceBench bench_of(model::Architecture architecture) {
  // For heads of 64 in float16: the distance between the host's logits and a device's.
  return {gpu_backend_test::small_model(architecture, model::DType::f16), 6e-3};
}

}  // namespace

TEST_CASE("tokens and logits are those without a host tier under every shipped policy") {
  NEEDS_DEVICE;
  std::map<std::string, Moved> all;
  std::map<std::string, std::int64_t> loaded_bytes;
  for (const auto architecture : {model::Architecture::llama, model::Architecture::opt}) {
    DeviceBench bench = bench_of(architecture);
    support::for_each_seed(2, [&](std::uint64_t seed) {
      Tour tour(bench, kDevice, seed + 100 * static_cast<std::uint64_t>(architecture));
      for (const std::string& policy : shipped_policies()) tour.serve_some(policy, 2);
      for (const auto& [kind, moved] : tour.moved()) all[kind] += moved;
    });
    for (const auto& [kind, bytes] : bench.loaded_bytes) loaded_bytes[kind] += bytes;
    std::cout << bench.rows << " rows, " << bench.near_ties << " near ties, worst row "
              << bench.worst << '\n';
    CHECK(bench.near_ties <= bench.rows / 20);
  }
  CHECK(all.size() == 10);
  for (const auto& [kind, moved] : all) {
    std::cout << describe(kind, moved) << ", " << loaded_bytes[kind] << " bytes loaded\n";
    const bool copies = kind != "no tier" && kind != "contiguous";
    INFO(kind);
    CHECK((moved.out > 0) == copies);
    CHECK((loaded_bytes[kind] > 0) == copies);
    CHECK((moved.ahead > 0) == (kind == "prefetch"));
  }
}

TEST_CASE("a device computes the same whatever leaves it or host memory first") {
  NEEDS_DEVICE;
  DeviceBench bench = bench_of(model::Architecture::llama);
  for (const Way& way : ways_of_evictions()) {
    INFO(way.text());
    Tour tour(bench, kDevice, 1);
    for (int i = 0; i < 20; ++i) CHECK(tour.serve(way));
    CHECK(tour.moved().at("offload").in > 0);
  }
}

TEST_CASE("a device computes the same whatever a plugin decides") {
  NEEDS_DEVICE;
  DeviceBench bench = bench_of(model::Architecture::llama);
  for (const auto& [axis, calls] :
       serve_with_plugin(bench, kDevice, KVSWEEP_TEST_PLUGINS "/arbitrary.so", 6)) {
    INFO(axis);
    CHECK(calls > 0);
  }
}

TEST_CASE("a device's blocks that are not copied are noticed under every kind of tier") {
  NEEDS_DEVICE;
  DeviceBench bench = bench_of(model::Architecture::llama);
  for (const Way& way : ways_of_tiers()) {
    INFO(way.text());
    CHECK(serve_with_faults(bench, way, kDevice, CopyFault::skip, Checks::off).wrong > 0);
    const Outcomes checked = serve_with_faults(bench, way, kDevice, CopyFault::skip, Checks::debug);
    CHECK(checked.noticed > 0);
    CHECK(checked.wrong == 0);
  }
}

TEST_CASE("a device's blocks that are reallocated before they are stored are detected") {
  NEEDS_DEVICE;
  DeviceBench bench = bench_of(model::Architecture::llama);
  for (const Way& way : ways_of_tiers()) {
    INFO(way.text());
    const Outcomes checked =
        serve_with_faults(bench, way, kDevice, CopyFault::complete_early, Checks::debug);
    CHECK(checked.noticed > 0);
    CHECK(checked.wrong == 0);
  }
}
