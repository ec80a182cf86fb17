#include "workers/bounds/bounds.hpp"

#include "tests/support/catch.hpp"
#include "workers/bounds/srpt.hpp"

using bounds::least_completion_sum;
using bounds::TurnShare;

TEST_CASE("the shortest remaining work first gives the least sum of completion times") {
  CHECK(least_completion_sum({{0, 5}, {1, 1}}) == 6 + 2);
  CHECK(least_completion_sum({{0, 6}, {0, 1}, {0, 2}}) == 1 + 3 + 9);
  CHECK(least_completion_sum({{4, 1}, {0, 1}}) == 1 + 5);
  CHECK(least_completion_sum({}) == 0);
}

TEST_CASE("a cut before the last turn sees that jobs meet again after their gaps") {
  const std::vector<TurnShare> job = {{1, 4, 1}, {1, 0, 1}};
  const std::vector<std::vector<TurnShare>> jobs = {job, job};
  const std::vector<double> arrivals_s = {0, 0};
  const std::vector<double> means = bounds::means_by_cut(jobs, arrivals_s);
  CHECK(means.front() == 3);
  CHECK(means.back() == 6.5);
}
