#include "tests/policies/requests.hpp"
#include "tests/support/catch.hpp"

using namespace policy_test;

namespace {
struct Fcfs : OrderWorld {
  Fcfs() : OrderWorld({.order = "fcfs"}) {}
};
}  // namespace

TEST_CASE("first come is first served whatever its priority and job", "[fcfs]") {
  Fcfs world;
  world.wait({.arrival_s = 3, .priority = 2});
  world.wait({.arrival_s = 1, .priority = 0});
  world.wait({.arrival_s = 2, .priority = 1});
  CHECK(world.order->size() == 3);
  CHECK(world.service() == "0 1 2 ");
  CHECK(world.drain() == "0 1 2 ");
  CHECK(world.order->size() == 0);
}

TEST_CASE("the youngest running request is preempted and is served next", "[fcfs]") {
  Fcfs world;
  world.run({});
  world.run({});
  world.run({});
  world.wait({});
  CHECK(world.preempt() == "2");
  CHECK(world.preempt() == "1");
  CHECK(world.service() == "1 2 3 ");
}

TEST_CASE("a request leaves the middle of the queue", "[fcfs]") {
  Fcfs world;
  for (int i = 0; i < 3; ++i) world.wait({});
  world.order->remove(world.requests[1]);
  CHECK(world.drain() == "0 2 ");
  CHECK(world.order->front() == nullptr);
}
