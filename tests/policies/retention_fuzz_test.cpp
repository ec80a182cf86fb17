#include <set>

#include "tests/engine/support/fuzz_driver.hpp"
#include "tests/engine/support/seeds.hpp"
#include "tests/support/catch.hpp"

using namespace support;

namespace {

/// A random workload under a random combination of policies for gaps.
FuzzCase gap_case(std::uint64_t seed) {
  FuzzCase fuzz = make_fuzz_case(seed, {"job_fcfs", "cache_ttl"}, Retained::pins);
  Dice dice(seed ^ 0x5eed);
  policies::PolicyConfig& policy = fuzz.config.policy;
  policy.retention = dice.any({"pin", "pin", "infercept"});
  policy.ttl_rule = dice.any({"fixed", "utility", "ski_rental"});
  policy.reload = {0, 1e-3 * dice.between(1, 3000), 0};
  policy.max_num_batched_tokens = fuzz.config.scheduler.max_num_batched_tokens;
  policy.block_size = fuzz.config.kv.block_size;
  policy.estimator.name = dice.any({"tool_mean", "tool_cdf", "lognormal", "oracle", "client_hint"});
  policy.estimator.parameters["estimator_calls"] = 3.0;
  policy.estimator.error = {.bias = dice.any({0.5, 1.0, 2.0}), .sigma = dice.any({0.0, 1.0})};
  const auto gap = [seed](engine::JobId job, int turn) {
    return engine::Nanos{std::chrono::milliseconds{100}} *
           static_cast<int>((seed + engine::index(job) * 7 + static_cast<unsigned>(turn)) % 40);
  };
  policy.estimator.truth = policy.estimator.hints = gap;
  policy.parameters["victim"] =
      std::string(dice.any({"last_unpinned", "latest_job", "latest_arrival"}));
  policy.admission.max_programs = dice.one_in(2) ? dice.between(1, 4) : 0;
  // A job that never announces its last turn would never end.
  for (FuzzJob& job : fuzz.jobs) job.turns.back().says_last = true;
  return fuzz;
}

std::string text(const FuzzCase& fuzz) {
  const policies::PolicyConfig& policy = fuzz.config.policy;
  return describe(fuzz) + ", " + policy.retention + ", " + policy.ttl_rule + ", " +
         policy.estimator.name + ", at most " + std::to_string(policy.admission.max_programs);
}

}  // namespace

TEST_CASE("with any retention policy, invariants hold and every job ends", "[retention]") {
  for_each_seed(2000, [&](std::uint64_t seed) {
    const FuzzCase fuzz = gap_case(seed);
    try {
      SchedulerWorld world(fuzz.config);
      FuzzDriver(fuzz, world, {}).run();
    } catch (const std::exception& error) {
      throw std::runtime_error(text(fuzz) + ": " + error.what());
    }
  });
}

TEST_CASE("the random gaps reach every way to end a pin", "[retention]") {
  std::set<std::string> seen;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const FuzzCase fuzz = gap_case(seed);
    SchedulerWorld world(fuzz.config);
    FuzzDriver(fuzz, world, {}).run();
    for (const std::string& event : world.pin_events())
      seen.insert(event.substr(0, event.find(' ')) + event.substr(event.rfind(' ')));
  }
  for (const char* each : {"pin known_tool", "pin unseen_tool", "pin utility", "pin cold_start",
                           "pin rent", "unpin ttl", "unpin handoff", "unpin replaced",
                           "unpin pressure_run", "unpin pressure_admit"}) {
    INFO(each);
    CHECK(seen.contains(each));
  }
}
