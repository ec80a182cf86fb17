#include <cmath>

#include "tests/policies/requests.hpp"
#include "tests/support/catch.hpp"
#include "workers/policies/config.hpp"
#include "workers/policies/estimators/memoryfulness.hpp"
#include "workers/policies/queue_wait.hpp"

using namespace policy_test;
using namespace std::chrono_literals;
using engine::KvReason;
using engine::Nanos;
using engine::Request;
using policies::Evidence;
using policies::GapForecast;
using policies::Hold;
using policies::PolicyConfig;

namespace {

constexpr double kReloadPerToken = 1e-4;

PolicyConfig ruled_by(const std::string& rule) {
  return {.reload = {0, kReloadPerToken, 0}, .max_num_batched_tokens = 1000, .ttl_rule = rule};
}

/// A rule, and turns that finish under it.
struct RuleWorld {
  explicit RuleWorld(const PolicyConfig& config) : rule(policies::make_ttl_rule(config)) {}

  Request& turn(int tokens, const Turn& turn = {}) {
    Request& request = requests.make(turn);
    request.spec.prompt = std::span(prompt).first(static_cast<std::size_t>(tokens));
    request.num_computed_tokens = tokens;
    rule->on_arrival(request);
    return request;
  }
  /// Finishes a turn with evicted KV that waited in the queue.
  void lose(double queue_s, Nanos at = 0s) {
    Request& request = turn(100);
    request.recomputed_tokens = 64;
    request.time.queue = engine::from_seconds(queue_s);
    rule->on_turn_finish(request, at);
  }
  void end_job(int turns) {
    rule->on_turn_finish(turn(100, {.turn = turns - 1, .last = true}), 0s);
  }
  double ttl_s(int tokens, std::optional<GapForecast> forecast = {}, Nanos now = 0s) {
    return engine::to_seconds(rule->decide(turn(tokens), now, forecast).ttl);
  }

  std::vector<engine::TokenId> prompt = std::vector<engine::TokenId>(40'000);
  Requests requests;
  std::unique_ptr<policies::TtlRule> rule;
};

const GapForecast kHalfSecond = GapForecast::around(500ms, 0, Evidence::tool);

}  // namespace

TEST_CASE("while little is known a turn is kept for ln of what losing it costs", "[utility]") {
  RuleWorld world(ruled_by("utility"));
  CHECK(world.ttl_s(9'000) == 0);  // 0.9 s to recompute: a pin does not pay
  CHECK(world.ttl_s(30'000) == Approx(std::log(3.0)));
  world.lose(4.0);
  CHECK(world.ttl_s(10'000) == Approx(std::log(5.0)));
}

TEST_CASE("a known gap is bridged when computing again costs more", "[utility]") {
  RuleWorld world(ruled_by("utility"));
  CHECK(world.ttl_s(4'000, kHalfSecond) == 0);
  CHECK(world.ttl_s(6'000, kHalfSecond) == Approx(0.5));
  CHECK(world.rule->decide(world.turn(4'000), 0s, kHalfSecond).reason == KvReason::utility);
  CHECK(world.rule->decide(world.turn(6'000), 0s, kHalfSecond).reason == KvReason::utility);
  CHECK(world.rule->decide(world.turn(30'000), 0s, {}).reason == KvReason::cold_start);
}

TEST_CASE("queue waits count as much as job lengths can be predicted", "[utility]") {
  RuleWorld world(ruled_by("utility"));
  world.lose(4.0);
  CHECK(world.ttl_s(1'000, kHalfSecond) == 0);  // no job has ended
  for (int i = 0; i < 4; ++i) world.end_job(8);
  CHECK(world.ttl_s(1'000, kHalfSecond) == Approx(0.5));
}

TEST_CASE("only turns that lost whole blocks count for the queue wait", "[utility]") {
  RuleWorld world(ruled_by("utility"));
  Request& hit = world.turn(100);
  hit.recomputed_tokens = 15;
  hit.time.queue = 60s;
  world.rule->on_turn_finish(hit, 0s);
  CHECK(world.ttl_s(9'000) == 0);
}

TEST_CASE("a decaying queue wait is forgotten, another is not", "[utility]") {
  PolicyConfig config = ruled_by("utility");
  RuleWorld frozen(config);
  config.parameters["wait_half_life_s"] = 60.0;
  RuleWorld decaying(config);
  for (RuleWorld* world : {&frozen, &decaying}) world->lose(8.0, 100s);
  CHECK(frozen.ttl_s(0, {}, 100s) == Approx(std::log(8)));
  CHECK(decaying.ttl_s(0, {}, 100s) == Approx(std::log(8)));
  CHECK(frozen.ttl_s(0, {}, 220s) == Approx(std::log(8)));
  CHECK(decaying.ttl_s(0, {}, 220s) == Approx(std::log(2)));
  CHECK(decaying.ttl_s(0, {}, 1000s) == 0);
}

TEST_CASE("jobs of equal length have memoryfulness one, of geometric length zero",
          "[memoryfulness]") {
  policies::Memoryfulness memory;
  CHECK(memory.value() == 0);
  memory.on_job_end(2);
  CHECK(memory.value() == 0);  // a single boundary has no correlation
  memory.on_job_end(1);
  CHECK(memory.value() == 0);
  policies::Memoryfulness constant;
  for (int i = 0; i < 10; ++i) constant.on_job_end(17);
  CHECK(constant.value() == Approx(1));
  policies::Memoryfulness geometric;  // half of the jobs that continue end with their next turn
  for (int turns = 1; turns <= 8; ++turns)
    for (int jobs = 256 >> turns; jobs > 0; --jobs) geometric.on_job_end(turns);
  CHECK(std::abs(geometric.value()) < 0.1);
}

TEST_CASE("memory reaches back 256 jobs", "[memoryfulness]") {
  policies::Memoryfulness memory, fresh;
  for (int i = 0; i < 300; ++i) memory.on_job_end(3 + i * 7 % 40);
  for (int i = 0; i < 256; ++i) memory.on_job_end(5 + i % 9);
  for (int i = 0; i < 256; ++i) fresh.on_job_end(5 + i % 9);
  CHECK(memory.value() == Approx(fresh.value()).epsilon(1e-12));
}

TEST_CASE("the mean queue wait is over the last 256 turns", "[queue_wait]") {
  policies::QueueWait wait(0s);
  CHECK(wait.mean_s(5s) == 0);
  wait.add(1000s, 0s);
  for (int i = 0; i < 256; ++i) wait.add(i % 2 == 0 ? 1s : 3s, 1s);
  CHECK(wait.mean_s(99s) == Approx(2));
}

TEST_CASE("ski rental keeps until keeping has cost as much as losing", "[ski_rental]") {
  RuleWorld world(ruled_by("ski_rental"));
  // Running alone: 2000 tokens in two chunks of 0.1 s, holding 1000 and 2000 tokens meanwhile.
  CHECK(world.ttl_s(2'000) == Approx((0.1 * 1000 + 0.1 * 2000) / 2000));
  Request& other = world.turn(4'000);
  other.status = engine::RequestStatus::running;
  CHECK(world.ttl_s(2'000) == Approx((0.1 * 5000 + 0.1 * 6000) / 2000));
}

TEST_CASE("only running requests wait for a prefill", "[ski_rental]") {
  RuleWorld world(ruled_by("ski_rental"));
  const double alone = world.ttl_s(2'000);
  Request& other = world.turn(4'000);
  CHECK(world.ttl_s(2'000) == Approx(alone));  // it waits
  other.status = engine::RequestStatus::running;
  CHECK(world.ttl_s(2'000) > alone);
  other.status = engine::RequestStatus::finished;
  CHECK(world.ttl_s(2'000) == Approx(alone));
  other.status = engine::RequestStatus::running;  // another request at its address
  other.id = engine::RequestId{777};
  CHECK(world.ttl_s(2'000) == Approx(alone));
}

TEST_CASE("the oracle keeps a turn that no tool call could be read from", "[pin]") {
  PolicyConfig config{.retention = "pin"};
  config.estimator = {.name = "oracle",
                      .truth = [](engine::JobId, int turn) { return Nanos{1s} * (turn + 1); }};
  const auto policy = policies::make_retention(config);
  Requests requests;
  CHECK(policy->on_turn_finish(requests.make({.turn = 0}), 10s).deadline == 12s);
  CHECK(policy->on_turn_finish(requests.make({.turn = 2}), 10s).reason == KvReason::slow_tool);
}

TEST_CASE("a prefill cost is fitted exactly where it is quadratic", "[reload_cost]") {
  const auto fit = policies::fit_reload_cost(
      [](int n) { return 0.012 + 2.58e-5 * n + 3e-10 * n * static_cast<double>(n); });
  CHECK(fit.fixed_s == Approx(0.012));
  CHECK(fit.linear_s == Approx(2.58e-5));
  CHECK(fit.quadratic_s == Approx(3e-10));
  CHECK(fit.seconds(7000) == Approx(0.012 + 0.1806 + 0.0147));
}
