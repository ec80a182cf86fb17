#include "tests/engine/support/scheduler_world.hpp"
#include "tests/support/catch.hpp"

using namespace support;

TEST_CASE("time is split into waiting and what steps computed", "[time]") {
  SchedulerWorld world({.scheduler = {.max_num_seqs = 1}});
  world.add("a", {.prompt = tokens(10), .outputs = tokens(3), .arrival_s = 0.0});
  world.add("b", {.prompt = tokens(10, 1), .outputs = tokens(2), .arrival_s = 0.0});
  world.run_until_idle();
  const auto step = world.step_duration;
  CHECK((world["a"].time.queue == 0 * step && world["a"].time.prefill == step));
  CHECK(world["a"].time.decode == 2 * step);
  CHECK((world["b"].time.queue == 3 * step && world["b"].time.decode == step));
  CHECK(world["b"].admitted == 3 * step);
  CHECK(world["b"].first_token == 4 * step);
}

TEST_CASE("recomputation after a preemption is accounted separately", "[time]") {
  SchedulerWorld world({.kv = {.num_blocks = 5, .block_size = 4}});
  world.add("a", {.prompt = tokens(8), .outputs = tokens(2, 1), .arrival_s = 0.0});
  world.add("b", {.prompt = tokens(8, 2), .outputs = tokens(2, 3), .arrival_s = 0.0});
  CHECK(world.step() == "a:8 b:8");
  CHECK(world.step() == "a:1");
  CHECK(world.preempted() == "b");
  CHECK(world.step() == "b:5");  // its second block was allocated to a
  const auto step = world.step_duration;
  CHECK(world["b"].recomputed_tokens == 4);
  CHECK(world["b"].time.queue == step);
  CHECK(world["b"].time.recompute == step * 4 / 5);
  CHECK(world["b"].time.prefill == step + step / 5);
}
