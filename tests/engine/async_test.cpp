#include <algorithm>

#include "tests/engine/support/engine_world.hpp"
#include "tests/support/catch.hpp"
#include "workers/backends/sim/link_copier.hpp"

using engine::Nanos;
using support::EngineWorld;
using support::Tokens;

namespace {

support::EngineWorldConfig async_config() {
  support::EngineWorldConfig config;
  config.engine.async_scheduling = true;
  return config;
}

constexpr Nanos kStep{10'000'000};  // of the fake backend

}  // namespace

TEST_CASE("an asynchronous engine launches a step before it waits for the one before", "[async]") {
  EngineWorld world(async_config());
  std::vector<std::uint64_t> launched;
  world.backend.on_execute = [&](const engine::StepPlan& plan) { launched.push_back(plan.step); };
  const Tokens prompt = support::tokens(20, 1);
  engine::RequestSpec spec;
  spec.prompt = prompt;
  spec.max_tokens = 3;
  world.engine.submit(spec);

  const engine::StepTrace& first = world.engine.step();
  CHECK(launched == std::vector<std::uint64_t>{1, 2});
  CHECK(first.plan->step == 1);
  CHECK(first.end == kStep);
  const engine::StepTrace& second = world.engine.step();
  CHECK(launched == std::vector<std::uint64_t>{1, 2, 3});
  CHECK(second.plan->step == 2);
  CHECK(second.start == kStep);
  CHECK(second.end == 2 * kStep);
  const engine::StepTrace& third = world.engine.step();
  // Nothing was left to schedule: the third token was in flight.
  CHECK(launched.size() == 3);
  REQUIRE(third.finished.size() == 1);
  CHECK(third.finished.front()->outputs == Tokens{1000, 1001, 1002});
  CHECK(third.end == 3 * kStep);
  CHECK(world.engine.idle());
  CHECK(world.engine.wakeup() == world.clock.now());
  CHECK(world.engine.wake().plan->step == 4);
  CHECK(world.engine.kv().num_free() == world.engine.kv().num_usable());
}

TEST_CASE("an arrival during a step waits for the step behind it as well", "[async]") {
  EngineWorld world(async_config());
  const Tokens prompt = support::tokens(20, 1), later = support::tokens(20, 2);
  engine::RequestSpec spec;
  spec.prompt = prompt;
  spec.max_tokens = 8;
  world.engine.submit(spec);
  world.engine.step();  // the second step has been launched
  spec.prompt = later;
  spec.arrival = world.clock.now();
  spec.max_tokens = 1;
  world.engine.submit(spec);
  world.engine.step();
  const engine::StepTrace& with = world.engine.step();
  CHECK(with.plan->step == 3);
  CHECK(with.plan->scheduled.size() == 2);
  REQUIRE(with.finished.size() == 1);
  const engine::Request& request = *with.finished.front();
  CHECK(request.time.queue == kStep);
  CHECK(request.time.prefill == kStep);
  CHECK(request.time.queue + request.time.prefill == with.end - spec.arrival);
}

TEST_CASE("time that a connector takes passes beside the step in flight", "[async]") {
  support::EngineWorldConfig config = async_config();
  config.engine.scheduler.version = engine::Version::v0_33;
  const Nanos cost = kStep / 2;
  config.engine.tier = {
      .kind = engine::TierKind::offload, .host_blocks = 8, .schedule_overhead = cost};
  backends::LinkCopier link({50, 50, 1, false, 1000});
  EngineWorld world(config, &link);
  const Tokens prompt = support::tokens(20, 1);
  const engine::Request request = world.run_until_finished(world.submit(prompt, 3));
  CHECK(world.clock.now() == cost + 3 * kStep);
  CHECK(request.time.prefill == kStep);
  CHECK(request.time.decode == 2 * kStep);
}

TEST_CASE(
    "when blocks run out, vLLM 0.26 with a host tier preempts all behind the one that needs one",
    "[async]") {
  const bool as_v0_26 = GENERATE(true, false);
  support::EngineWorldConfig config = async_config();
  config.engine.scheduler.max_model_len = 64;
  // Three prompts of two blocks of 16 tokens need a third one in the same step, and one is left.
  config.engine.kv.num_blocks = 1 + 7;
  config.engine.tier = {.kind = engine::TierKind::offload, .host_blocks = 64, .as_v0_26 = as_v0_26};
  if (as_v0_26) config.engine.scheduler.version = engine::Version::v0_26;
  backends::LinkCopier link({50, 50, 1, false, 1000});
  EngineWorld world(config, &link);
  std::size_t most = 0;
  world.backend.on_execute = [&](const engine::StepPlan& plan) {
    most = std::max(most, plan.preempted.size());
  };
  std::vector<Tokens> prompts;
  for (const int seed : {1, 2, 3}) prompts.push_back(support::tokens(30, seed));
  for (const Tokens& prompt : prompts) world.submit(prompt, 10);
  while (!world.engine.idle()) world.engine.step();
  CHECK(most == (as_v0_26 ? 2 : 1));
  CHECK(world.engine.kv().num_free() == world.engine.kv().num_usable());
}
