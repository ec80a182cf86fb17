// Runs on the simulator and on a real model make the same decisions.
#include <algorithm>
#include <map>

#include "tests/cpu/random_serving.hpp"
#include "tests/engine/support/seeds.hpp"

using namespace cpu_test;
using support::Dice;

TEST_CASE("the simulator makes the same decisions as a run that computes the model",
          "[conformance]") {
  int steps = 0, preemptions = 0, hits = 0, pins = 0, evictions = 0;
  support::for_each_seed(300, [&](std::uint64_t seed) {
    Dice dice(seed);
    const auto jobs = random_jobs(dice, small_llama().shape().vocab, kMaxModelLen);
    const auto kv_type = seed % 2 == 0 ? model::DType::f32 : model::DType::e4m3;
    const Serving serving = random_serving(dice, kv_type);
    const Served computed = serve(small_llama(), jobs, serving);
    const Served simulated = simulate(jobs, serving, computed);
    const std::string found = first_other_decision(computed, simulated);
    if (!found.empty()) throw std::logic_error(found + "\nwith " + describe(serving));
    if (simulated.answers != computed.answers) throw std::logic_error("answers differ");
    steps += computed.steps;
    preemptions += computed.preemptions;
    hits += computed.hit_tokens;
    pins += computed.pins;
    evictions += computed.evictions;
  });
  std::cout << "compared " << steps << " steps over " << preemptions << " preemptions, " << hits
            << " tokens of prefix hits, " << pins << " pins, " << evictions << " evictions\n";
  for (const int count : {preemptions, hits, pins, evictions}) CHECK(count > 0);
}

TEST_CASE("the simulator evicts as a run that computes the model does, by every rule",
          "[conformance]") {
  for (const std::string& rule : policies::eviction_names()) {
    if (rule == "plugin" || rule == "partial_first") continue;  // the pool's own order
    int unlike_lru = 0;
    support::for_each_seed(20, [&](std::uint64_t seed) {
      Dice dice(seed);
      const auto jobs = random_jobs(dice, small_llama().shape().vocab, kMaxModelLen);
      Serving serving = random_serving(dice, model::DType::f32);
      serving.engine.kv.prefix_caching = true;
      serving.policy.estimator.truth = [](engine::JobId job, int) { return gap_of(job); };
      serving.policy.reload = {0, 1e-3, 1e-6};
      serving.policy.eviction_rule.parameters = {{"spare_tokens", 8.0},
                                                 {"retained", "0-8:100, 8-:35:2.5, generated:20"}};
      const Served by_lru = serve(small_llama(), jobs, serving);
      serving.policy.eviction = rule;
      const Served computed = serve(small_llama(), jobs, serving);
      const std::string found = first_other_decision(computed, simulate(jobs, serving, computed));
      if (!found.empty())
        throw std::logic_error(found + "\nby " + rule + " with " + describe(serving));
      unlike_lru += !first_other_decision(computed, by_lru).empty();
    });
    INFO(rule);
    CHECK((unlike_lru > 0) == (rule != "lru"));
  }
}

TEST_CASE("a plugin decides on the simulator as on a run that computes the model",
          "[conformance][plugin]") {
  std::map<std::string, int> decided;
  support::for_each_seed(150, [&](std::uint64_t seed) {
    Dice dice(seed);
    const auto jobs = random_jobs(dice, small_llama().shape().vocab, kMaxModelLen);
    Serving serving = random_serving(dice, model::DType::f32);
    let_plugin_decide(dice, KVSWEEP_TEST_PLUGINS "/arbitrary.so", serving);
    for (const std::string& axis : policies::plugin_axes(serving.policy)) ++decided[axis];
    const Served computed = serve(small_llama(), jobs, serving);
    const std::string found = first_other_decision(computed, simulate(jobs, serving, computed));
    if (!found.empty()) throw std::logic_error(found + "\nwith " + describe(serving));
  });
  CHECK(decided.size() == 4);
}

TEST_CASE("an answer shorter by one token, or a pool larger by one block, changes decisions",
          "[conformance]") {
  int by_token = 0, by_block = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Dice dice(seed);
    const auto jobs = random_jobs(dice, small_llama().shape().vocab, kMaxModelLen);
    Serving serving = random_serving(dice, model::DType::f32);
    const Served computed = serve(small_llama(), jobs, serving);
    auto shorter = jobs;
    int& tokens = shorter[0].turns[0].max_tokens;
    tokens = std::max(1, tokens - 1);
    by_token += !first_other_decision(computed, simulate(shorter, serving, computed)).empty();
    ++serving.engine.kv.num_blocks;
    by_block += !first_other_decision(computed, simulate(jobs, serving, computed)).empty();
  }
  CHECK(by_token > 0);
  CHECK(by_block > 0);
}
