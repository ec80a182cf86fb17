#include <map>
#include <set>
#include <string>

#include "tests/policies/requests.hpp"
#include "tests/support/catch.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/policies/estimators/work_history.hpp"

using policies::Work;

namespace {

/// Jobs a, b, c with 9, 2 and 4 tokens left at their first turn, and 3 of a's at its second.
Work known(engine::JobId job, int turn) {
  static const std::map<std::pair<unsigned, int>, double> left = {
      {{0, 0}, 9}, {{0, 1}, 3}, {{1, 0}, 2}, {{2, 0}, 4}};
  return {0, left.at({engine::index(job), turn})};
}

}  // namespace

TEST_CASE("the job with the least work left goes first", "[srpt]") {
  policy_test::OrderWorld world(
      {.order = "srpt", .true_work = known, .parameters = {{"remaining_work", "oracle"}}});
  for (const int job : {0, 1, 2}) world.wait({.job = job});
  CHECK(world.service() == "1 2 0 ");
  world.order->remove(world.requests[1]);
  world.order->remove(world.requests[0]);
  world.wait({.job = 0, .turn = 1});
  CHECK(world.drain() == "3 2 ");
}

TEST_CASE("a client's hint of the work left may be wrong or missing", "[srpt]") {
  policies::PolicyConfig config{
      .order = "srpt", .true_work = known, .parameters = {{"remaining_work", "hint"}}};
  const auto service = [&] {
    policy_test::OrderWorld world(config);
    for (const int job : {0, 1, 2}) world.wait({.job = job});
    return world.service();
  };
  CHECK(service() == "1 2 0 ");
  config.estimator.error.missing = 1;  // and no history yet: as they came
  CHECK(service() == "0 1 2 ");
  config.estimator.error = {.outliers = 1, .outlier_factor = 100};
  std::set<std::string> orders;
  for (config.estimator.error.seed = 1; config.estimator.error.seed < 40;
       ++config.estimator.error.seed)
    orders.insert(service());
  CHECK(orders.size() > 2);
}

TEST_CASE("the running turn with the most work left is preempted", "[srpt]") {
  policy_test::OrderWorld world(
      {.order = "srpt", .true_work = known, .parameters = {{"remaining_work", "oracle"}}});
  for (const int job : {0, 1, 2}) {
    engine::Request& request = world.wait({.job = job});
    world.order->remove(request);
    world.running.push_back(request);
  }
  CHECK(world.preempt() == "0");
}

TEST_CASE("without the recording srpt goes by what ended jobs had left at the same turn",
          "[srpt]") {
  policies::WorkHistory history;
  CHECK(history.remaining(0).output == 0);
  const auto play = [&](std::uint32_t job, std::initializer_list<double> outputs) {
    for (const double output : outputs) history.on_turn_end(engine::JobId{job}, {1, output});
    history.on_job_end(engine::JobId{job});
  };
  play(0, {10, 20, 30});
  play(1, {4});
  CHECK(history.remaining(0).output == 32);
  CHECK(history.remaining(0).prompt == 2);
  CHECK(history.remaining(1).output == 50);
  CHECK(history.remaining(2).output == 30);
  CHECK(history.remaining(7).output == 30);  // as for the furthest turn that is known
}

TEST_CASE("srpt by the recording needs one", "[srpt]") {
  CHECK_THROWS_AS(
      policies::make_order({.order = "srpt", .parameters = {{"remaining_work", "oracle"}}}),
      engine::InputError);
}
