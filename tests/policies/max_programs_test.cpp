#include "tests/engine/support/scheduler_world.hpp"
#include "tests/policies/requests.hpp"
#include "tests/support/catch.hpp"

using namespace policy_test;
using engine::Request;
using engine::RequestStatus;

namespace {

struct Limited : OrderWorld {
  explicit Limited(int limit, const std::string& order_name = "fcfs")
      : OrderWorld({.order = order_name, .admission = {.max_programs = limit}}) {}

  /// Admits the front request.
  Request& admit() {
    Request& request = *order->front();
    order->remove(request);
    request.status = RequestStatus::running;
    return request;
  }
  Request& finish(Request& request) {
    request.status = RequestStatus::finished;
    order->on_turn_end(request, engine::Nanos{0});
    return request;
  }
  void abort(Request& request) {
    request.status = RequestStatus::aborted;
    order->on_turn_end(request, engine::Nanos{0});
  }
};

}  // namespace

TEST_CASE("without a limit nothing is held back", "[admission]") {
  Limited world(0);
  for (int job = 0; job < 5; ++job) world.wait({.job = job});
  CHECK(world.service() == "0 1 2 3 4 ");
}

TEST_CASE("jobs beyond the limit are held back until one is over", "[admission]") {
  Limited world(2);
  for (int job = 0; job < 4; ++job) world.wait({.job = job, .last = job == 1});
  CHECK(world.service() == "0 1 ");
  CHECK(world.order->size() == 2);
  Request& first = world.admit();
  Request& second = world.admit();
  CHECK(world.order->size() == 0);
  world.finish(first);  // its tool starts
  CHECK(world.order->front() == nullptr);
  world.finish(second);  // its job has ended
  CHECK(world.service() == "2 ");
  CHECK(world.order->size() == 1);
}

TEST_CASE("turns of jobs under way are never held back", "[admission]") {
  Limited world(1);
  world.wait({.job = 0});
  world.finish(world.admit());
  world.wait({.job = 1});
  world.wait({.job = 0, .turn = 1});
  CHECK(world.drain() == "2 ");
}

TEST_CASE("held jobs are admitted by the order's own rule", "[admission]") {
  Limited world(1, "priority");
  world.wait({.job = 0, .priority = 5, .last = true});
  world.wait({.job = 1, .priority = 9});
  world.wait({.job = 2, .priority = 1});
  world.finish(world.admit());
  CHECK(world.service() == "2 ");
}

TEST_CASE("a preempted turn keeps its job's place under the limit", "[admission]") {
  Limited world(1);
  world.wait({.job = 0});
  world.wait({.job = 1});
  Request& running = world.admit();
  world.running.push_back(running);
  CHECK(world.preempt() == "0");
  CHECK(world.service() == "0 ");
}

TEST_CASE("an aborted turn ends its job, waiting, running or held", "[admission]") {
  Limited world(1);
  world.wait({.job = 0});
  Request& held = world.wait({.job = 1});
  world.wait({.job = 2});
  world.order->remove(held);
  world.abort(held);
  Request& running = world.admit();
  CHECK(world.order->size() == 0);
  world.abort(running);
  CHECK(world.service() == "2 ");
}

TEST_CASE("held jobs are served one after another by the scheduler", "[admission]") {
  support::SchedulerWorld world(
      {.scheduler = {.max_num_batched_tokens = 100, .max_num_seqs = 8},
       .policy = {.order = "job_fcfs", .admission = {.max_programs = 1}}});
  const auto turn = [](int job, int number, bool last) {
    return support::Ask{.prompt = support::tokens(10, job),
                        .outputs = support::tokens(1),
                        .job = job,
                        .job_arrival_s = 1.0 * job,
                        .turn = number,
                        .last_turn = last};
  };
  world.add("a.0", turn(0, 0, false));
  world.add("b.0", turn(1, 0, true));
  world.add("c.0", turn(2, 0, true));
  CHECK(world.step() == "a.0:10");
  CHECK(world.plan().stop == engine::StopReason::active_programs);
  world.add("a.1", turn(0, 1, true));
  CHECK(world.step() == "a.1:10");
  CHECK(world.step() == "b.0:10");
  CHECK(world.plan().stop == engine::StopReason::active_programs);
  CHECK(world.step() == "c.0:10");
  CHECK(world.plan().stop == engine::StopReason::none);
}
