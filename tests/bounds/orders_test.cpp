// Tiny cells whose orders of service can all be tried: bound <= best of all orders <= each policy.
//
// The pool holds all jobs, so that a scheduler decides only which waiting turn is served next. With
// one request at a time and `Patience::waits` the interleavings are all schedules that serve whole
// turns one after another, deliberate idling included: what starts in the order of another
// schedule, each turn as soon as it can, ends no later than there. So their best is the optimum
// among such schedules. That of schedulers which also displace a running turn may be lower. With
// two requests at a time, every scheduler that displaces none and leaves no place free while a turn
// waits makes one of the schedules of `Patience::none`: that of the order in which it starts turns.
#include <algorithm>
#include <set>

#include "tests/bounds/against_bounds.hpp"
#include "tests/bounds/given_order.hpp"
#include "tests/support/shared.hpp"
#include "tests/workload/trace/trace_text.hpp"
#include "workers/profiles/profiles.hpp"

using bounds_test::Dice;
using bounds_test::Interleaving;
using bounds_test::mean_jct_s;
using bounds_test::Patience;
using support::Cell;

namespace {

/// Two or three sessions of one or two turns.
struct TinyLoad {
  std::string sessions;
  Interleaving turns;  // in the order of the jobs
};

TinyLoad tiny_load(Dice& dice) {
  TinyLoad load;
  trace_test::TraceText sessions;
  double arrival_s = 0;
  for (int job = 0, jobs = 2 + dice.up_to(1); job < jobs; ++job) {
    // The first block of some sessions is the same.
    std::vector<std::pair<std::string, int>> prompt = {
        {std::to_string(dice.up_to(1) == 0 ? 1 : 100 * (job + 1)), 64}};
    std::vector<trace_test::TurnText> made;
    for (int turn = 0, turns = 1 + dice.up_to(1); turn < turns; ++turn) {
      for (int more = 1 + dice.up_to(7); more > 0; --more)
        prompt.emplace_back(std::to_string(100 * (job + 1) + static_cast<int>(prompt.size())), 64);
      trace_test::TurnText written{prompt, 1 + dice.up_to(12)};
      written.prompt.emplace_back("null", 5);
      written.more = std::string(R"(, "gap_s": )") + dice.any_of({"0", "0.05", "0.2", "0.6"});
      made.push_back(std::move(written));
      load.turns.push_back(job);
    }
    arrival_s += 0.05 * dice.up_to(4);
    sessions.job("s" + std::to_string(job), made, ", \"arrival_s\": " + std::to_string(arrival_s));
  }
  load.sessions = sessions.str();
  return load;
}

Cell cell_of(const TinyLoad& load, const support::TempDir& folder, int requests, Dice& dice) {
  Cell cell;
  cell.without("jps").set("sim.cost_model", dice.any_of({"published", "kernels"}));
  cell.set("workload.kind", "trace").set("workload.path", folder.write("s.jsonl", load.sessions));
  cell.set("engine.max_model_len", 2048).set("engine.kv_tokens", 16'384);
  cell.set("engine.max_num_seqs", requests);
  return cell.set("engine.max_num_batched_tokens", dice.any_of({64, 256, 2048}));
}

/// The least mean JCT of all interleavings.
double best_of_all(const Cell& cell, Interleaving turns, Patience patience) {
  const auto config = cell.config();
  worker::WorkloadCache workloads;
  double best_s = std::numeric_limits<double>::infinity();
  std::ranges::sort(turns);
  do {
    best_s = std::min(best_s, mean_jct_s(config, workloads, turns, patience));
  } while (std::ranges::next_permutation(turns).found);
  return best_s;
}

double bound_s(const Cell& cell) {
  worker::WorkloadCache workloads;
  return bounds::bound_of(cell.config(), workloads).mean.best_s();
}

double policy_s(const Cell& cell) {
  worker::WorkloadCache workloads;
  return bounds_test::run(cell.config(), workloads).mean_jct_s;
}

constexpr double kBelow = 1 - 1e-9, kAbove = 1 + 1e-9;

/// Cells in which the numbers meet, so that none of the comparisons could be stricter.
struct Meet {
  int bound = 0, policy = 0, idling_pays = 0;
};

}  // namespace

TEST_CASE("bound <= best order of whole turns one at a time, idling included <= every policy") {
  Dice dice(21);
  Meet meet;
  std::set<std::string> ran;
  const int cells = support::scaled(60);
  for (int i = 0; i < cells; ++i) {
    const support::TempDir folder;
    const TinyLoad load = tiny_load(dice);
    const Cell cell = cell_of(load, folder, 1, dice);
    INFO(load.sessions << sweep::canonical_json(cell.params()));
    const double bound = bound_s(cell), best = best_of_all(cell, load.turns, Patience::waits);
    REQUIRE(bound * kBelow <= best);
    meet.bound += best < 1.05 * bound ? 1 : 0;
    const double busy = best_of_all(cell, load.turns, Patience::none);
    REQUIRE(best <= busy * kAbove);
    meet.idling_pays += best < 0.999 * busy ? 1 : 0;
    double best_policy = std::numeric_limits<double>::infinity();
    for (const std::string& policy : worker::profile_names(support::kProfiles / "policies")) {
      Cell of = cell;
      of.set("policy", policy);
      if (of.refusal().find("dram_gib") != std::string::npos) of.set("dram_gib", 1);
      if (of.refusal() != "accepted") continue;
      INFO(policy);
      const double mean = policy_s(of);
      REQUIRE(best <= mean * kAbove);
      best_policy = std::min(best_policy, mean);
      ran.insert(policy);
    }
    meet.policy += best_policy <= best * kAbove ? 1 : 0;
  }
  CHECK(ran.size() >= 20);
  if (cells < 60) return;
  CHECK(meet.bound >= 5);  // within 5 %
  CHECK(meet.policy >= 20);
  CHECK(meet.idling_pays >= 1);
}

TEST_CASE("bound <= best priority order of turns, two at a time <= every order without idling") {
  Dice dice(22);
  Meet meet;
  const int cells = support::scaled(60);
  for (int i = 0; i < cells; ++i) {
    const support::TempDir folder;
    const TinyLoad load = tiny_load(dice);
    const Cell cell = cell_of(load, folder, 2, dice);
    INFO(load.sessions << sweep::canonical_json(cell.params()));
    const double bound = bound_s(cell), best = best_of_all(cell, load.turns, Patience::none);
    REQUIRE(bound * kBelow <= best);
    meet.bound += best < 1.05 * bound ? 1 : 0;
    double best_policy = std::numeric_limits<double>::infinity();
    for (const char* policy : {"fcfs", "job_fcfs", "cache_ttl", "attained_service", "srpt",
                               "longest_prefix", "pin", "continuum"}) {
      INFO(policy);
      const double mean = policy_s(Cell(cell).set("policy", policy));
      REQUIRE(best <= mean * kAbove);
      best_policy = std::min(best_policy, mean);
    }
    meet.policy += best_policy <= best * kAbove ? 1 : 0;
  }
  if (cells < 60) return;
  CHECK(meet.bound >= 5);
  CHECK(meet.policy >= 20);
}
