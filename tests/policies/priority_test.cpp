#include "tests/policies/requests.hpp"
#include "tests/support/catch.hpp"

using namespace policy_test;

namespace {
struct Priority : OrderWorld {
  Priority() : OrderWorld({.order = "priority"}) {}
};
}  // namespace

TEST_CASE("smaller values are served first and then earlier arrivals", "[priority]") {
  Priority world;
  world.wait({.arrival_s = 1, .priority = 2});
  world.wait({.arrival_s = 3, .priority = -1});
  world.wait({.arrival_s = 2, .priority = 2});
  world.wait({.arrival_s = 2, .priority = -1});
  CHECK(world.service() == "3 1 0 2 ");
  CHECK(world.drain() == "3 1 0 2 ");
}

TEST_CASE("equal urgency is served in the order of ids", "[priority]") {
  Priority world;
  for (int i = 0; i < 5; ++i) world.requests.make({.arrival_s = 1});
  for (const std::size_t i : {3u, 0u, 4u, 1u, 2u}) world.order->push(world.requests[i]);
  CHECK(world.drain() == "0 1 2 3 4 ");
}

TEST_CASE("the least urgent running request is preempted, of equals the latest arrival",
          "[priority]") {
  Priority world;
  world.run({.arrival_s = 9, .priority = 0});
  world.run({.arrival_s = 1, .priority = 3});
  world.run({.arrival_s = 2, .priority = 3});
  world.run({.arrival_s = 8, .priority = 1});
  CHECK(world.preempt() == "2");
  CHECK(world.preempt() == "1");
  CHECK(world.preempt() == "3");
}

TEST_CASE("among exact equals the one admitted first is preempted", "[priority]") {
  Priority world;
  for (int i = 0; i < 3; ++i) world.run({.arrival_s = 1, .priority = 1});
  CHECK(world.victim() == "0");
}

TEST_CASE("a preempted request waits at its own rank and not in front", "[priority]") {
  Priority world;
  world.run({.priority = 5});
  world.wait({.priority = 1});
  world.preempt();
  CHECK(world.service() == "1 0 ");
}
