#include "tests/policies/requests.hpp"
#include "tests/support/catch.hpp"

using namespace policy_test;
using namespace std::chrono_literals;
using engine::GapDecision;
using engine::KvReason;
using engine::Nanos;

namespace {

/// Jobs that call tools, and the policy's decision at the end of each turn.
struct PinPolicy {
  explicit PinPolicy(Nanos threshold = 2s, Nanos ttl = 2s)
      : policy(policies::make_retention(
            {.retention = "pin",
             .parameters = {{"ttl_s", engine::to_seconds(ttl)},
                            {"threshold_s", engine::to_seconds(threshold)}}})) {}

  GapDecision finish(int job, int tool, double at_s, bool last = false) {
    return policy->on_turn_finish(requests.make({.job = job, .tool = tool, .last = last}),
                                  engine::from_seconds(at_s));
  }
  void arrive(int job, double at_s) {
    policy->on_arrival(requests.make({.job = job, .arrival_s = at_s}));
  }
  /// A call of the tool by a new job.
  void call(int tool, double duration_s) {
    const int job = next_job++;
    finish(job, tool, 100);
    arrive(job, 100 + duration_s);
  }
  KvReason reason(int tool) { return finish(next_job++, tool, 0).reason; }

  std::unique_ptr<engine::RetentionPolicy> policy;
  Requests requests;
  int next_job = 1000;
};

constexpr int kLs = 0, kPytest = 1, kNone = -1;

}  // namespace

TEST_CASE("a tool that was never seen counts as fast", "[pin]") {
  PinPolicy world;
  const GapDecision decision = world.finish(0, kLs, 10);
  CHECK(decision.pin);
  CHECK(decision.reason == KvReason::unseen_tool);
}

TEST_CASE("the time to live begins when the turn finishes", "[pin]") {
  PinPolicy world(2s, 3s);
  CHECK(world.finish(0, kLs, 10).deadline == 13s);
}

TEST_CASE("without a readable tool call nothing is kept", "[pin]") {
  PinPolicy world;
  const GapDecision decision = world.finish(0, kNone, 10);
  CHECK_FALSE(decision.pin);
  CHECK(decision.reason == KvReason::no_tool);
}

TEST_CASE("a job's last turn is not kept whatever tool it names", "[pin]") {
  PinPolicy world;
  const GapDecision decision = world.finish(0, kLs, 10, true);
  CHECK_FALSE(decision.pin);
  CHECK(decision.reason == KvReason::last_turn);
}

TEST_CASE("a tool is slow when its mean duration exceeds the threshold", "[pin]") {
  PinPolicy world;
  world.call(kPytest, 2.0);
  CHECK(world.reason(kPytest) == KvReason::known_tool);
  world.call(kPytest, 2.2);
  CHECK(world.reason(kPytest) == KvReason::slow_tool);
  CHECK(world.reason(kLs) == KvReason::unseen_tool);
}

TEST_CASE("the mean is taken over all calls ever and all jobs", "[pin]") {
  PinPolicy world;
  world.call(kLs, 60);
  for (int i = 0; i < 28; ++i) world.call(kLs, 0.01);
  CHECK(world.reason(kLs) == KvReason::slow_tool);  // 60.28 s in 29 calls
  for (int i = 0; i < 2; ++i) world.call(kLs, 0.01);
  CHECK(world.reason(kLs) == KvReason::known_tool);  // 60.3 s in 31
}

TEST_CASE("a call lasts from a turn's finish to the arrival of the next", "[pin]") {
  PinPolicy world;
  world.finish(0, kLs, 10);
  world.finish(1, kPytest, 11);
  world.arrive(1, 16);
  world.arrive(0, 10.5);
  CHECK(world.reason(kPytest) == KvReason::slow_tool);
  CHECK(world.reason(kLs) == KvReason::known_tool);
}

TEST_CASE("the arrival of a first turn and after no tool teaches nothing", "[pin]") {
  PinPolicy world;
  world.arrive(0, 1000);
  world.finish(0, kNone, 1001);
  world.arrive(0, 5000);
  CHECK(world.reason(kLs) == KvReason::unseen_tool);
}

TEST_CASE("an arrival ends one call and not a second time", "[pin]") {
  PinPolicy world;
  world.finish(0, kLs, 10);
  world.arrive(0, 11);
  world.arrive(0, 5000);
  CHECK(world.reason(kLs) == KvReason::known_tool);
}

TEST_CASE("a slow tool's duration is learned although its turn was not kept", "[pin]") {
  PinPolicy world(1s);
  world.call(kLs, 1.5);
  world.call(kLs, 0.1);
  CHECK(world.reason(kLs) == KvReason::known_tool);
}

TEST_CASE("a time to live below 10 ms keeps nothing", "[pin]") {
  CHECK_FALSE(PinPolicy(2s, 9'999'999ns).finish(0, kLs, 0).pin);
  CHECK(PinPolicy(2s, 10ms).finish(0, kLs, 0).pin);
}

TEST_CASE("the switches between published pinning rules are passed on", "[pin]") {
  const engine::PinRules rules{.protect_waiting = true,
                               .release_on_handoff = true,
                               .pressure_victim = engine::PressureVictim::latest_deadline};
  const auto passed = policies::make_retention({.retention = "pin", .pins = rules})->pin_rules();
  CHECK((passed.protect_waiting && passed.release_on_handoff));
  CHECK(passed.pressure_victim == engine::PressureVictim::latest_deadline);
}

TEST_CASE("the free retention keeps nothing and records no event", "[free]") {
  const auto policy = policies::make_retention({.retention = "free"});
  Requests requests;
  const GapDecision decision = policy->on_turn_finish(requests.make({.tool = kLs}), 1s);
  CHECK_FALSE(decision.pin);
  CHECK(decision.reason == KvReason::none);
}
