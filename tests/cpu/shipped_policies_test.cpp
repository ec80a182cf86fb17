// Every shipped policy, with every kind of preemption and every scheduler, computes the same on a
// real model while KV is really copied to host memory and back, under checksums.
#include "tests/cpu/random_serving.hpp"
#include "tests/cpu/shipped_ways.hpp"
#include "tests/engine/support/seeds.hpp"

using namespace cpu_test;
using backends::Checks;
using backends::CopyFault;

namespace {

const Target kHost = {"cpu", {2, 4, 8, 16}};

/// A small model on the CPU.
class HostBench final : public Bench {
 public:
  int vocab() const override { return weights_.shape().vocab; }
  void renew_jobs(std::vector<Job> jobs) override {
    jobs_ = std::move(jobs);
    plain_ = cpu_test::serve(weights_, jobs_, plain_serving(kMaxModelLen, model::DType::f32));
  }
  Served serve(const Serving& serving) override {
    Served served = cpu_test::serve(weights_, jobs_, serving);
    const std::string found = difference(served, plain_);
    if (!found.empty()) throw std::logic_error(found);
    return served;
  }

 private:
  backends::CpuWeights weights_ = random_model(small_model(model::Architecture::llama));
  std::vector<Job> jobs_;
  Served plain_;
};

/// Number of servings of a way. Only one of the schedulers has a prefix cache, and with it most
/// ways to keep KV; prefetches only load blocks that were evicted in time.
int times(const Way& way) {
  if (way.scheduler != "v1") return 1;
  return way.policy == "predictive_prefetch" ? 20 : 3;
}

}  // namespace

TEST_CASE(
    "tokens and logits have the same bits under every shipped policy and every kind of preemption",
    "[tier][policies]") {
  std::map<std::string, Moved> all;
  support::for_each_seed(1, [&](std::uint64_t seed) {
    HostBench bench;
    Tour tour(bench, kHost, seed);
    for (const Way& way : all_ways())
      for (int left = times(way); left > 0; --left) tour.serve(way);
    all = tour.moved();
  });
  CHECK(all.size() == 10);
  for (const auto& [kind, moved] : all) {
    std::cout << describe(kind, moved) << '\n';
    const bool copies = kind != "no tier" && kind != "contiguous";
    INFO(kind);
    CHECK((moved.out > 0) == copies);
    CHECK((moved.in + moved.ahead > 0) == copies);
    CHECK((moved.ahead > 0) == (kind == "prefetch"));
  }
}

TEST_CASE("tokens and logits have the same bits whatever leaves the GPU or host memory first",
          "[tier][policies]") {
  HostBench bench;
  for (const Way& way : ways_of_evictions()) {
    INFO(way.text());
    Tour tour(bench, kHost, 1);
    for (int i = 0; i < 40; ++i) CHECK(tour.serve(way));
    CHECK(tour.moved().at("offload").in > 0);
  }
}

TEST_CASE("tokens and logits have the same bits whatever a plugin decides", "[tier][plugin]") {
  HostBench bench;
  for (const auto& [axis, calls] :
       serve_with_plugin(bench, kHost, KVSWEEP_TEST_PLUGINS "/arbitrary.so", 6)) {
    INFO(axis);
    CHECK(calls > 0);
  }
}

TEST_CASE("blocks that are not copied are detected under every kind of tier", "[tier][policies]") {
  HostBench bench;
  for (const Way& way : ways_of_tiers()) {
    INFO(way.text());
    CHECK(serve_with_faults(bench, way, kHost, CopyFault::skip, Checks::off).wrong > 0);
    const Outcomes checked = serve_with_faults(bench, way, kHost, CopyFault::skip, Checks::debug);
    CHECK(checked.noticed > 0);
    CHECK(checked.wrong == 0);
  }
}

TEST_CASE("blocks that are reused before they are copied are detected under every kind of tier",
          "[tier][policies]") {
  HostBench bench;
  for (const Way& way : ways_of_tiers()) {
    INFO(way.text());
    CHECK(serve_with_faults(bench, way, kHost, CopyFault::complete_early, Checks::off).wrong > 0);
    const Outcomes checked =
        serve_with_faults(bench, way, kHost, CopyFault::complete_early, Checks::debug);
    CHECK(checked.noticed > 0);
    CHECK(checked.wrong == 0);
  }
}
