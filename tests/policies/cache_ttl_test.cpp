#include "tests/policies/requests.hpp"
#include "tests/support/catch.hpp"

using namespace policy_test;

namespace {

struct CacheTtl : OrderWorld {
  CacheTtl()
      : OrderWorld(
            {.order = "cache_ttl", .parameters = {{"victim", std::string("latest_arrival")}}}) {}
  void pin(std::uint32_t job, bool pinned = true) {
    order->on_pin_changed(engine::JobId{job}, pinned);
  }
};

}  // namespace

TEST_CASE("preempted turns go before pinned jobs, and these before the rest", "[cache_ttl]") {
  CacheTtl world;
  world.run({.job = 9, .job_arrival_s = 9});
  world.wait({.job = 1, .job_arrival_s = 1});
  world.wait({.job = 5, .job_arrival_s = 5});
  world.pin(5);
  CHECK(world.preempt() == "0");
  CHECK(world.service() == "0 2 1 ");
  CHECK(world.drain() == "0 2 1 ");
}

TEST_CASE("within each group a turn takes the position of its job's first turn", "[cache_ttl]") {
  CacheTtl world;
  for (const int job : {4, 3}) world.run({.job = job, .job_arrival_s = 1.0 * job});
  for (const int job : {2, 1}) world.wait({.job = job, .job_arrival_s = 1.0 * job});
  for (const int job : {6, 5}) world.wait({.job = job, .job_arrival_s = 1.0 * job});
  world.pin(5);
  world.pin(6);
  CHECK(world.preempt() == "0");
  CHECK(world.preempt() == "1");
  CHECK(world.drain() == "1 0 5 4 3 2 ");
}

TEST_CASE("a preempted turn is like any other once it has been served", "[cache_ttl]") {
  CacheTtl world;
  world.run({.job = 7, .job_arrival_s = 7});
  world.preempt();
  CHECK(world.drain() == "0 ");
  world.wait({.job = 7, .turn = 1, .job_arrival_s = 7});
  world.wait({.job = 2, .job_arrival_s = 2});
  CHECK(world.drain() == "2 1 ");
}

TEST_CASE("the job that arrived last is preempted although its turn is its last", "[cache_ttl]") {
  CacheTtl world;
  world.run({.job = 0, .job_arrival_s = 1});
  world.run({.job = 1, .job_arrival_s = 7, .last = true});
  CHECK(world.victim() == "1");
}
