#include "tests/engine/support/scheduler_world.hpp"
#include "tests/policies/requests.hpp"
#include "tests/support/catch.hpp"

using namespace policy_test;

namespace {

struct JobFcfs : OrderWorld {
  explicit JobFcfs(const std::string& victim = "last_unpinned")
      : OrderWorld({.order = "job_fcfs", .parameters = {{"victim", victim}}}) {}
  void pin(std::uint32_t job, bool pinned = true) {
    order->on_pin_changed(engine::JobId{job}, pinned);
  }
};

}  // namespace

TEST_CASE("a turn takes the position of its job's first turn", "[job_fcfs]") {
  JobFcfs world;
  world.wait({.job = 2, .arrival_s = 5, .job_arrival_s = 3});
  world.wait({.job = 1, .turn = 7, .arrival_s = 9, .job_arrival_s = 1});
  world.wait({.job = 0, .arrival_s = 6, .job_arrival_s = 2});
  CHECK(world.service() == "1 2 0 ");
  CHECK(world.drain() == "1 2 0 ");
}

TEST_CASE("jobs of equal arrival are served by the turn's arrival and then its id", "[job_fcfs]") {
  JobFcfs world;
  world.wait({.job = 0, .arrival_s = 4});
  world.wait({.job = 1, .arrival_s = 2});
  world.wait({.job = 2, .arrival_s = 2});
  CHECK(world.drain() == "1 2 0 ");
}

TEST_CASE("turns of pinned jobs go before all others", "[job_fcfs]") {
  JobFcfs world;
  world.pin(5);
  world.wait({.job = 1, .job_arrival_s = 1});
  world.wait({.job = 5, .job_arrival_s = 5});
  CHECK(world.service() == "1 0 ");
}

TEST_CASE("a waiting turn moves when its job is pinned or no longer", "[job_fcfs]") {
  JobFcfs world;
  for (int job = 0; job < 6; ++job) world.wait({.job = job, .job_arrival_s = job * 1.0});
  world.pin(4);
  world.pin(3);
  CHECK(world.service() == "3 4 0 1 2 5 ");
  world.pin(3, false);
  CHECK(world.service() == "4 0 1 2 3 5 ");
  CHECK(world.drain() == "4 0 1 2 3 5 ");
}

TEST_CASE("a preempted turn returns to its job's position", "[job_fcfs]") {
  JobFcfs world;
  world.run({.job = 3, .job_arrival_s = 3});
  world.wait({.job = 1, .job_arrival_s = 1});
  world.wait({.job = 4, .job_arrival_s = 4});
  CHECK(world.preempt() == "0");
  CHECK(world.service() == "1 0 2 ");
}

TEST_CASE("the last admitted turn of a job without a pin is preempted", "[job_fcfs]") {
  JobFcfs world;
  for (int job = 0; job < 3; ++job) world.run({.job = job});
  world.pin(2);
  CHECK(world.victim() == "1");
  world.pin(1);
  CHECK(world.victim() == "0");
}

TEST_CASE("the last admitted turn is preempted when all jobs are pinned", "[job_fcfs]") {
  JobFcfs world;
  for (std::uint32_t job = 0; job < 3; ++job) {
    world.run({.job = static_cast<int>(job)});
    world.pin(job);
  }
  CHECK(world.victim() == "2");
}

TEST_CASE("by the other rule the job that arrived last is preempted", "[job_fcfs]") {
  JobFcfs world("latest_job");
  world.run({.job = 0, .job_arrival_s = 1});
  world.run({.job = 1, .job_arrival_s = 7});
  world.run({.job = 2, .job_arrival_s = 3});
  CHECK(world.victim() == "1");
}

TEST_CASE("turns that end their job are spared while there is another", "[job_fcfs]") {
  JobFcfs world("latest_job");
  world.run({.job = 0, .job_arrival_s = 1});
  world.run({.job = 1, .job_arrival_s = 7, .last = true});
  CHECK(world.preempt() == "0");
  CHECK(world.preempt() == "1");
}

TEST_CASE("a returning turn overtakes jobs that came after its own", "[job_fcfs]") {
  support::SchedulerWorld world({.scheduler = {.max_num_batched_tokens = 100, .max_num_seqs = 1},
                                 .policy = {.order = "job_fcfs"}});
  const auto turn = [](int job, int number, double job_arrival_s) {
    return support::Ask{.prompt = support::tokens(10, job),
                        .outputs = support::tokens(1),
                        .job = job,
                        .job_arrival_s = job_arrival_s,
                        .turn = number};
  };
  world.add("old.0", turn(0, 0, 0.0));
  world.step();
  world.add("new.0", turn(1, 0, 1.0));
  world.add("old.1", turn(0, 1, 0.0));
  CHECK(world.step() == "old.1:10");
  CHECK(world.step() == "new.0:10");
}
