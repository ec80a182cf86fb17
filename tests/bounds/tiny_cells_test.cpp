// Thousands of cells of a few turns of a few hundred tokens against their bounds.
#include <set>

#include "tests/bounds/against_bounds.hpp"
#include "tests/support/shared.hpp"
#include "tests/workload/trace/random_sessions.hpp"
#include "workers/profiles/profiles.hpp"

using bounds_test::Dice;
using bounds_test::Near;
using bounds_test::require_bounds;
using support::Cell;

namespace {

/// Up to five sessions on a pool that holds one context or a few of them.
Cell tiny_cell(const std::string& policy, const std::string& sessions, Dice& dice) {
  Cell cell;
  cell.set("policy", policy).set("jps", dice.any_of({0.5, 5.0, 50.0, 1000.0}));
  cell.set("gpu", dice.any_of({"h100-80gb", "a100-40gb"}));
  cell.set("sim.cost_model", dice.any_of({"published", "kernels"}));
  cell.set("workload.kind", "trace").set("workload.path", sessions);
  cell.set("workload.time_scale", dice.any_of({0.001, 0.1})).set("workload.too_long", "cut");
  cell.set("engine.max_model_len", 544).set("engine.kv_tokens", dice.any_of({544, 800, 2400}));
  cell.set("engine.block_size", dice.any_of({16, 32}));
  cell.set("engine.max_num_seqs", dice.any_of({1, 2, 8}));
  cell.set("engine.max_num_batched_tokens", dice.any_of({16, 256, 2048}));
  if (policy == "contiguous") cell.set("engine.max_num_batched_tokens", 2048);
  if (cell.refusal().find("dram_gib") != std::string::npos) cell.set("dram_gib", 1);
  return cell;
}

/// The cell with rules that its policy does not name, if they go together.
Cell with_other_rules(const Cell& cell, Dice& dice) {
  Cell other = cell;
  other.set("policy.eviction",
            dice.any_of({"partial_first", "next_use", "oracle", "slru", "tail_lru", "cost_aware",
                         "retention_priority", "session_close"}));
  if (dice.up_to(1) == 0)
    other.set("policy.order", dice.any_of({"fcfs", "job_fcfs", "attained_service", "srpt",
                                           "longest_prefix", "cache_ttl"}));
  if (dice.up_to(2) == 0)
    other.set("policy.admission", dice.any_of({"working_set", "thunder", "quota"}));
  return other.refusal() == "accepted" && other.obstacle() == "runs" ? other : cell;
}

}  // namespace

TEST_CASE("no policy beats the bounds of 5,000 tiny cells") {
  const std::vector<std::string> policies = worker::profile_names(support::kProfiles / "policies");
  const int cells = support::scaled(5000);
  const support::TempDir folder;
  Dice dice(11);
  Near near;
  std::set<std::string> labels, used, changed;
  for (int i = 0; i < cells; ++i) {
    const std::string& policy = policies[static_cast<std::size_t>(i) % policies.size()];
    trace_test::RandomSessions random(static_cast<unsigned>(i), 16, 100);
    const std::string sessions = folder.write("sessions.jsonl", random.lines(1 + dice.up_to(4)));
    const Cell plain = tiny_cell(policy, sessions, dice);
    INFO("cell " << i << ": " << sweep::canonical_json(plain.params()));
    REQUIRE(plain.refusal() == "accepted");
    const Cell cell = dice.up_to(1) == 0 ? plain : with_other_rules(plain, dice);
    INFO(sweep::canonical_json(cell.params()));
    labels.insert(require_bounds(cell.config(dice.up_to(99)), near).label());
    used.insert(policy);
    if (cell.params().contains("policy.eviction")) changed.insert(policy);
  }
  if (cells < 5000) return;
  CHECK(labels == std::set<std::string>{"alone", "cuts", "memory", "work"});
  CHECK(used.size() == policies.size());
  CHECK(changed.size() >= 10);
  // No tighter bounds could be true.
  CHECK(near.mean >= 100);  // within 2 %
  CHECK(near.hits >= 100);
  CHECK(near.misses >= 100);
  CHECK(near.beyond_compulsory >= 100);
}
