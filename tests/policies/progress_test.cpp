#include "tests/policies/requests.hpp"
#include "tests/support/catch.hpp"

namespace {

struct Progress : policy_test::OrderWorld {
  Progress() : OrderWorld({.order = "progress"}) {}

  engine::Request& wait(int job, int subagent_of = -1) {
    engine::Request& request = requests.make({.job = job, .job_arrival_s = 1.0 * job});
    if (subagent_of >= 0)
      request.spec.subagent_of = engine::JobId{static_cast<std::uint32_t>(subagent_of)};
    order->push(request);
    return request;
  }
  void serve(engine::Request& request) {
    order->remove(request);
    request.status = engine::RequestStatus::finished;
    order->on_turn_end(request, engine::Nanos{0});
  }
};

}  // namespace

TEST_CASE("the program of which most turns have ended goes first, ties as they came",
          "[progress]") {
  Progress world;
  world.serve(world.wait(2));
  world.serve(world.wait(2));
  world.serve(world.wait(1));
  for (const int job : {0, 1, 2, 3}) world.wait(job);  // requests 3 to 6
  CHECK(world.service() == "5 4 3 6 ");
}

TEST_CASE("turns of subagents count for their program", "[progress]") {
  Progress world;
  world.serve(world.wait(0));
  world.serve(world.wait(5, 1));
  world.serve(world.wait(6, 1));
  for (const int job : {0, 1}) world.wait(job);  // requests 3 and 4
  CHECK(world.drain() == "4 3 ");
}

TEST_CASE("the running turn of the program with least progress is preempted", "[progress]") {
  Progress world;
  world.serve(world.wait(1));
  for (const int job : {0, 1}) {
    engine::Request& request = world.wait(job);
    world.order->remove(request);
    world.running.push_back(request);
  }
  CHECK(world.victim() == "1");
}
