#include <map>
#include <set>

#include "tests/engine/naive_model.hpp"
#include "tests/engine/support/fuzz_driver.hpp"
#include "tests/engine/support/num_contents.hpp"
#include "tests/engine/support/seeds.hpp"
#include "tests/support/catch.hpp"

using namespace support;
using engine::StopReason;

namespace {

/// The scheduler's last step in the naive model's terms.
class StepRecord {
 public:
  explicit StepRecord(SchedulerWorld& world) : world_(world) {}

  void after_schedule() {
    static constexpr const char* kKinds[] = {"new", "resumed", "running"};
    step_ = {};
    for (const auto& share : world_.plan().scheduled) {
      step_.scheduled.push_back({number(share.request), kKinds[static_cast<int>(share.kind)],
                                 share.num_tokens, share.computed_before, table(*share.request)});
    }
    for (const auto* r : world_.plan().preempted) step_.preempted.push_back(number(r));
    for (const auto* r : world_.order().in_service_order()) step_.waiting.push_back(number(r));
    const auto& running = world_.scheduler().running();
    for (const auto* r = running.front(); r != nullptr; r = running.next(*r))
      step_.running.push_back(number(r));
    for (const auto& lost : world_.kv.evictions())
      step_.evicted.push_back(static_cast<int>(engine::index(lost.block)));
    step_.free_list = world_.free_list();
  }

  const naive::Step& after_apply() {
    for (const auto* r : world_.finished_requests) step_.finished.push_back(number(r));
    step_.free_list_after = world_.free_list();
    step_.distinct_contents = support::num_contents(world_.kv.prefix_cache());
    return step_;
  }

 private:
  static int number(const engine::Request* r) { return static_cast<int>(engine::index(r->id)); }
  static Ids table(const engine::Request& request) { return numbers(request.blocks); }

  SchedulerWorld& world_;
  naive::Step step_;
};

std::vector<naive::Retained> naive_retained(const std::vector<policies::RetainedRange>& ranges) {
  std::vector<naive::Retained> all;
  for (const auto& [begin, end, priority, lasts] : ranges)
    all.push_back(
        {begin, end, priority,
         lasts == engine::Nanos::max() ? -1 : static_cast<int>(lasts.count() / 1'000'000)});
  return all;
}

naive::EvictionConfig naive_eviction(const WorldConfig& config) {
  const auto& [kv, s, policy, tier, async] = config;
  const policies::EvictionConfig& rule = policy.eviction_rule;
  const auto given = [&](const char* parameter) {
    const auto found = rule.parameters.find(parameter);
    return found == rule.parameters.end() ? 0 : std::get<double>(found->second);
  };
  const auto word = [&](const char* parameter) {
    const auto found = rule.parameters.find(parameter);
    return found == rule.parameters.end() ? "" : std::get<std::string>(found->second);
  };
  const policies::RetainedRanges retained = policies::parse_retained(word("retained"));
  return {.rule = policy.eviction == "lru" ? "" : policy.eviction,
          .num_blocks = kv.num_blocks - 1,
          .block_size = kv.block_size,
          .protected_fraction = given("protected_fraction"),
          .counts_jobs = word("slru_counts") == "job",
          .spare_tokens = static_cast<int>(given("spare_tokens")),
          .retained = naive_retained(retained.ranges),
          .generated = naive_retained(retained.generated),
          .cost_growth = 2 * policy.reload.quadratic_s / 1e-4};
}

naive::Config naive_config(const WorldConfig& config) {
  const auto& [kv, s, policy, tier, async] = config;
  return {.num_blocks = kv.num_blocks,
          .block_size = kv.block_size,
          .prefix_caching = kv.prefix_caching,
          .partial_blocks_first = kv.partial_blocks_first,
          .token_budget = s.max_num_batched_tokens,
          .max_num_seqs = s.max_num_seqs,
          .max_model_len = s.max_model_len,
          .prefill_threshold = s.long_prefill_token_threshold,
          .newest = s.version == engine::Version::v0_33,
          .adaptive_threshold = s.adaptive_prefill_threshold,
          .watermark = s.watermark_blocks,
          .chunked_prefill = s.chunked_prefill,
          .reserve_full_sequence = s.reserve_full_sequence,
          .by_priority = policy.order == "priority",
          .step_ms = 10,
          .async = async,
          .eviction = naive_eviction(config)};
}

naive::Request naive_request(const engine::Request& request) {
  return {.id = static_cast<int>(engine::index(request.id)),
          .priority = request.spec.priority,
          .arrival = engine::to_seconds(request.spec.arrival),
          .tokens = {request.spec.prompt.begin(), request.spec.prompt.end()},
          .outputs = {request.spec.forced.begin(), request.spec.forced.end()},
          .job = static_cast<int>(engine::index(request.spec.job)),
          .turn = request.spec.turn,
          .last_turn = request.spec.last_turn};
}

void play_beside_naive_model(const FuzzCase& fuzz) {
  SchedulerWorld world(fuzz.config);
  naive::Model model(naive_config(fuzz.config));
  StepRecord record(world);
  FuzzDriver driver(
      fuzz, world,
      {.submitted = [&](const engine::Request& r) { model.submit(naive_request(r)); },
       .aborted =
           [&](const engine::Request& r) { model.abort(static_cast<int>(engine::index(r.id))); },
       .scheduled = [&] { record.after_schedule(); },
       .applied =
           [&] {
             const naive::Step& decided = record.after_apply();
             const naive::Step expected = model.step();
             if (decided == expected) return;
             throw std::logic_error("step " + std::to_string(world.plan().step) + "\n  decided  " +
                                    naive::to_string(decided) + "\n  expected " +
                                    naive::to_string(expected));
           }});
  driver.run();
}

void play(const FuzzCase& fuzz) {
  SchedulerWorld world(fuzz.config);
  FuzzDriver(fuzz, world, {}).run();
}

/// Plays the cases of 2,000 seeds; a failure says which case it was.
template <class Make, class Run>
void require_all_pass(const Make& make, const Run& run) {
  for_each_seed(2000, [&](std::uint64_t seed) {
    const FuzzCase fuzz = make(seed);
    try {
      run(fuzz);
    } catch (const std::exception& error) {
      throw std::runtime_error(describe(fuzz) + ": " + error.what());
    }
  });
}

void require_all_pass(std::initializer_list<const char*> orders, Retained retained,
                      void (*run)(const FuzzCase&)) {
  require_all_pass([&](std::uint64_t seed) { return make_fuzz_case(seed, orders, retained); }, run);
}

/// A case with pins in one of four, and a tier in one of three.
FuzzCase case_to_evict_in(std::uint64_t seed) {
  FuzzCase fuzz = make_fuzz_case(seed, {"fcfs", "priority", "job_fcfs"},
                                 seed % 4 == 0 ? Retained::pins : Retained::nothing);
  if (seed % 3 == 0) add_tier(fuzz, seed);
  return fuzz;
}

}  // namespace

TEST_CASE("the random workloads reach every rule", "[fuzz]") {
  std::set<StopReason> stops;
  std::set<std::string> pin_reasons;
  int resumed_with_hits = 0, several_preempted = 0, evicted = 0, duplicates = 0, aborted = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const auto retained = seed % 2 == 0 ? Retained::pins : Retained::nothing;
    const FuzzCase fuzz = make_fuzz_case(seed, {"fcfs", "priority", "job_fcfs"}, retained);
    SchedulerWorld world(fuzz.config);
    const auto look = [&] {
      stops.insert(world.plan().stop);
      several_preempted += world.plan().preempted.size() > 1;
      evicted += !world.kv.evictions().empty();
      const engine::PrefixCache& cache = world.kv.prefix_cache();
      duplicates += cache.num_blocks() > support::num_contents(cache);
      for (const auto& share : world.plan().scheduled)
        resumed_with_hits += share.kind == engine::SchedKind::resumed && share.computed_before > 0;
    };
    FuzzDriver(fuzz, world, {.aborted = [&](const auto&) { ++aborted; }, .scheduled = look}).run();
    for (const std::string& event : world.pin_events())
      pin_reasons.insert(event.substr(event.rfind(' ') + 1));
  }
  CHECK(stops.size() == 7);
  CHECK(pin_reasons == std::set<std::string>{"known_tool", "unseen_tool", "slow_tool", "no_tool",
                                             "last_turn", "no_room", "ttl", "handoff", "replaced",
                                             "job_end", "pressure_run", "pressure_admit"});
  CHECK(several_preempted > 0);
  for (const int count : {resumed_with_hits, evicted, duplicates, aborted}) CHECK(count >= 100);
}

TEST_CASE("every decision equals that of a naive model of the rules", "[fuzz]") {
  require_all_pass({"fcfs", "priority"}, Retained::nothing, play_beside_naive_model);
}

TEST_CASE("every decision as in vLLM 0.33 equals that of a naive model of the rules", "[fuzz]") {
  const bool async = GENERATE(false, true);
  const auto make = [&](std::uint64_t seed) {
    FuzzCase fuzz = make_fuzz_case(seed, {"fcfs", "priority"}, Retained::nothing);
    add_version(fuzz, seed);
    fuzz.config.async = async;
    return fuzz;
  };
  require_all_pass(make, play_beside_naive_model);
}

TEST_CASE("every asynchronous decision equals that of a naive model of the rules", "[fuzz]") {
  const auto make = [](std::uint64_t seed) {
    FuzzCase fuzz = make_fuzz_case(seed, {"fcfs", "priority"}, Retained::nothing);
    fuzz.config.async = true;
    return fuzz;
  };
  require_all_pass(make, play_beside_naive_model);
}

TEST_CASE("with steps in flight pins and orders keep the invariants and compute what they read",
          "[fuzz]") {
  const auto make = [](std::uint64_t seed) {
    FuzzCase fuzz = make_fuzz_case(
        seed, {"fcfs", "priority", "job_fcfs", "attained_service", "srpt", "longest_prefix"},
        seed % 3 == 0 ? Retained::nothing : Retained::pins);
    if (seed % 4 == 0) add_admission(fuzz, seed);
    fuzz.config.async = true;
    return fuzz;
  };
  require_all_pass(make, play);
}

TEST_CASE("evicting what is used last keeps the invariants and computes what it reads", "[fuzz]") {
  const bool async = GENERATE(false, true);
  const auto make = [&](std::uint64_t seed) {
    FuzzCase fuzz = case_to_evict_in(seed);
    add_eviction(fuzz, seed);
    if (async) make_async(fuzz);
    return fuzz;
  };
  require_all_pass(make, play);
}

TEST_CASE("every rule of eviction keeps the invariants and computes what it reads", "[fuzz]") {
  const std::string rule = GENERATE(from_range(policies::eviction_rules().names()));
  if (rule == "plugin") return;
  const bool async = GENERATE(false, true);
  CAPTURE(rule, async);
  const auto make = [&](std::uint64_t seed) {
    FuzzCase fuzz = case_to_evict_in(seed);
    add_eviction_rule(fuzz, rule, seed);
    if (async) make_async(fuzz);
    return fuzz;
  };
  require_all_pass(make, play);
}

TEST_CASE("the shipped rules of eviction decide as naive models of them", "[fuzz]") {
  const std::string rule =
      GENERATE("slru", "tail_lru", "retention_priority", "cost_aware", "session_close");
  const bool async = GENERATE(false, true);
  CAPTURE(rule, async);
  const auto make = [&](std::uint64_t seed) {
    FuzzCase fuzz = make_fuzz_case(seed, {"fcfs", "priority"}, Retained::nothing);
    add_eviction_rule(fuzz, rule, seed);
    if (async) make_async(fuzz);
    return fuzz;
  };
  require_all_pass(make, play_beside_naive_model);
}

TEST_CASE("job order keeps the invariants, makes progress and computes what it reads", "[fuzz]") {
  require_all_pass({"job_fcfs"}, Retained::nothing, play);
}

TEST_CASE("pins keep the invariants, never block progress and all end", "[fuzz]") {
  require_all_pass({"fcfs", "priority", "job_fcfs"}, Retained::pins, play);
}

TEST_CASE("under every order and admission all jobs end, and what waits keeps the engine busy",
          "[fuzz]") {
  std::map<std::string, int> held_back;
  for_each_seed(2000, [&](std::uint64_t seed) {
    const auto retained = seed % 3 == 0 ? Retained::pins : Retained::nothing;
    FuzzCase fuzz = make_fuzz_case(
        seed, {"fcfs", "priority", "job_fcfs", "attained_service", "srpt", "longest_prefix"},
        retained);
    if (seed % 4 == 0) add_tier(fuzz, seed);
    if (seed % 5 != 0) add_admission(fuzz, seed);
    if (seed % 7 == 0) add_eviction(fuzz, seed);
    const std::string& rule = fuzz.config.policy.admission.rule;
    try {
      SchedulerWorld world(fuzz.config);
      const auto look = [&] {
        const int held = world.order().held_back();
        held_back[rule] += held > 0 ? 1 : 0;
        if (held > 0 && world.scheduler().idle() && rule != "max_programs")
          throw std::logic_error("a turn is held back while nothing is in the engine");
      };
      FuzzDriver(fuzz, world, {.scheduled = look, .applied = look}).run();
    } catch (const std::exception& error) {
      throw std::runtime_error(describe(fuzz) + ": " + error.what());
    }
  });
  for (const char* rule : {"max_programs", "working_set", "thunder", "quota"}) {
    INFO(rule);
    CHECK(held_back[rule] > 0);
  }
}
