// Simulated cells against their bounds.
#include <set>

#include "tests/bounds/against_bounds.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"
#include "tests/workload/trace/random_sessions.hpp"
#include "workers/profiles/profiles.hpp"

using bounds_test::Dice;
using bounds_test::Near;
using bounds_test::require_bounds;
using support::Cell;

namespace {

/// A few jobs on a pool that need not hold them all.
Cell few_jobs(const std::string& policy, Dice& dice) {
  Cell cell;
  cell.set("policy", policy).set("jps", dice.any_of({0.02, 0.3, 2.0, 50.0}));
  cell.set("gpu", dice.any_of({"h100-80gb", "a100-40gb"}));
  cell.set("workload.kind", dice.any_of({"agent8", "swe_smith_like"}));
  cell.set("workload.jobs", 1 + dice.up_to(5)).set("workload.seed", dice.up_to(999));
  cell.set("workload.gap_s", dice.any_of({0.0, 0.5, 8.0}));
  cell.set("engine.kv_tokens", dice.any_of({17'008, 24'000, 80'000}));
  cell.set("engine.max_num_seqs", dice.any_of({1, 2, 64}));
  cell.set("engine.max_num_batched_tokens", dice.any_of({64, 512, 2048}));
  cell.set("sim.cost_model", dice.any_of({"published", "kernels"}));
  return cell;
}

}  // namespace

TEST_CASE("no shipped policy beats the bounds of a cell") {
  constexpr int kCells = 30;  // of a policy
  Dice dice(7);
  Near near;
  std::set<std::string> labels;
  int asynchronous = 0;
  for (const std::string& policy : worker::profile_names(support::kProfiles / "policies")) {
    for (int i = 0; i < kCells; ++i) {
      Cell cell = few_jobs(policy, dice);
      if (policy == "contiguous")
        cell.set("engine.kv_tokens", 80'000).set("engine.max_num_batched_tokens", 16'384);
      const std::string refusal = cell.refusal();
      if (refusal.find("dram_gib") != std::string::npos) cell.set("dram_gib", dice.any_of({1, 16}));
      Cell ranked = cell;
      ranked.set("policy.host_eviction", dice.any_of({"next_use", "oracle", "arc"}));
      if (ranked.refusal() == "accepted") cell = ranked;
      Cell ahead = cell;
      ahead.set("engine.async_scheduling", dice.up_to(1) == 0);
      if (ahead.obstacle() == "runs") cell = ahead;
      asynchronous += cell.config(1).engine.async_scheduling ? 1 : 0;
      INFO(policy << " " << sweep::canonical_json(cell.params()));
      REQUIRE(cell.refusal() == "accepted");
      labels.insert(require_bounds(cell.config(dice.up_to(99)), near).label());
    }
  }
  CHECK(labels == std::set<std::string>{"alone", "cuts", "memory", "work"});
  CHECK(asynchronous >= 30);
  // No tighter bounds could be true.
  CHECK(near.mean >= 100);  // within 2 %
  CHECK(near.hits >= 100);
  CHECK(near.misses >= 100);
  CHECK(near.beyond_compulsory >= 10);
}

TEST_CASE("nor do prompts that grow and are cut, with subagents") {
  Dice dice(8);
  Near near;
  for (unsigned seed = 0; seed < 60; ++seed) {
    const support::TempDir folder;
    Cell cell;
    cell.set("policy", dice.any_of({"fcfs", "job_fcfs", "continuum", "pin"}));
    cell.set("workload.kind", "trace").set("jps", dice.any_of({0.1, 2.0, 50.0}));
    cell.set("workload.path",
             folder.write("t.jsonl", trace_test::RandomSessions(seed).lines(2 + dice.up_to(6))));
    cell.set("workload.time_scale", dice.any_of({0.01, 1.0}));
    cell.set("engine.kv_tokens", dice.any_of({4096, 40'000})).set("engine.max_model_len", 4096);
    cell.set("engine.block_size", dice.any_of({16, 64}));
    cell.set("sim.cost_model", dice.any_of({"published", "kernels"}));
    if (dice.up_to(2) == 0)
      cell.without("jps").set("workload.arrivals", "live").set("workload.live", 1 + dice.up_to(3));
    INFO(sweep::canonical_json(cell.params()));
    worker::WorkloadCache workloads;
    const auto config = cell.config();
    const bounds::CellBound bound = bounds::bound_of(config, workloads);
    CHECK(bound.alone_because.empty() == (config.workload.arrivals.most_live == 0));
    require_bounds(config, near);
  }
}

TEST_CASE("nor do the older schedulers, which split a step's limits in their own ways") {
  Dice dice(9);
  Near near;
  for (const char* scheduler : {"prefill_first", "mixed", "chunked"}) {
    for (int i = 0; i < 20; ++i) {
      Cell cell = Cell().without("jps").set("workload.kind", "zipf").set("gpu", "a100-40gb");
      cell.set("workload.n", 1 + dice.up_to(20)).set("workload.prompt_to_output", 0.5);
      cell.set("engine.scheduler", scheduler).set("workload.seed", dice.up_to(999));
      cell.set("sim.cost_model", dice.any_of({"published", "kernels"}));
      INFO(sweep::canonical_json(cell.params()));
      REQUIRE(cell.refusal() == "accepted");
      worker::WorkloadCache workloads;
      const auto config = cell.config();
      const bounds::CellBound bound = bounds::bound_of(config, workloads);
      CHECK_THAT(bound.alone_because, Catch::Matchers::Contains("scheduler v1"));
      require_bounds(config, near);
    }
  }
}
