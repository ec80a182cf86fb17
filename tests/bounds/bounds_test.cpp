#include "workers/bounds/bounds.hpp"

#include <random>

#include "tests/support/catch.hpp"
#include "workers/profiles/profiles.hpp"

using bounds::least_completion_sum;
using bounds::TurnShare;

TEST_CASE("the shortest remaining work first gives the least sum of completion times") {
  CHECK(least_completion_sum({{0, 5}, {1, 1}}) == 6 + 2);
  CHECK(least_completion_sum({{0, 6}, {0, 1}, {0, 2}}) == 1 + 3 + 9);
  CHECK(least_completion_sum({{4, 1}, {0, 1}}) == 1 + 5);
  CHECK(least_completion_sum({}) == 0);
}

namespace {

/// Every schedule of the server in steps of a second.
double least_of_all_schedules(std::vector<bounds::ServerJob> jobs, int now = 0) {
  double least = std::numeric_limits<double>::infinity(), next = least;
  bool all_done = true;
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    if (jobs[job].work_s == 0) continue;
    all_done = false;
    next = std::min(next, jobs[job].release_s);
    if (jobs[job].release_s > now) continue;
    std::vector<bounds::ServerJob> after = jobs;
    const double ended = --after[job].work_s == 0 ? now + 1 : 0;
    least = std::min(least, ended + least_of_all_schedules(after, now + 1));
  }
  if (all_done) return 0;
  return next > now ? least_of_all_schedules(jobs, static_cast<int>(next)) : least;
}

}  // namespace

TEST_CASE("no schedule of a small server completes its jobs sooner") {
  std::mt19937 random(5);
  for (int i = 0; i < 300; ++i) {
    std::vector<bounds::ServerJob> jobs;
    for (int job = 0; job < 4; ++job)
      jobs.push_back({static_cast<double>(random() % 6), static_cast<double>(1 + random() % 3)});
    REQUIRE(least_completion_sum(jobs) == least_of_all_schedules(jobs));
  }
}

TEST_CASE("a job alone takes its prefill steps, its decodes and the gaps between its turns") {
  const auto cost =
      backends::make_cost_model("published", worker::load_gpu_profile("sweeps", "h100-80gb"),
                                worker::load_model_config("sweeps", "llama-3.1-8b").shape);
  constexpr double kStep_s = 23.7e-3, kToken_s = 25.8e-6;  // as published
  // Two full steps of prefill, then two decodes; the last turn's gap counts for nothing.
  const std::vector<bounds::JobNeed> jobs = {
      {{3000, 3, 2048, 0, 5.0, {}}, {4000, 1, 1, 0, 7.0, {}}}};
  const double mean_s = bounds::alone_mean(jobs, *cost, 1024);
  CHECK(mean_s == Approx(5 * kStep_s + (2048 + 2 + 1) * kToken_s + 5).epsilon(1e-8));
  CHECK(bounds::alone_mean(jobs, *cost, 0) == Approx(mean_s - kStep_s).epsilon(1e-8));
}

TEST_CASE("a turn that starts some time after the last one's start waits less for a longer turn") {
  const auto cost =
      backends::make_cost_model("published", worker::load_gpu_profile("sweeps", "h100-80gb"),
                                worker::load_model_config("sweeps", "llama-3.1-8b").shape);
  const auto mean_s = [&](double since_start_s) {
    const std::vector<bounds::JobNeed> jobs = {
        {{100, 1, 100, 0, 9.0, since_start_s}, {200, 1, 100, 0, 0.0, {}}}};
    return bounds::alone_mean(jobs, *cost, 1024);
  };
  const double turn_s = 23.7e-3 + 100 * 25.8e-6;
  CHECK(mean_s(0.001) == Approx(2 * turn_s));
  CHECK(mean_s(2) == Approx(2 + turn_s));
}

TEST_CASE("a cut before the last turn sees that jobs meet again after their gaps") {
  const std::vector<TurnShare> job = {{1, 4, 1}, {1, 0, 1}};
  const std::vector<std::vector<TurnShare>> jobs = {job, job};
  const std::vector<double> arrivals_s = {0, 0};
  const std::vector<double> means = bounds::means_by_cut(jobs, arrivals_s);
  CHECK(means.front() == 3);
  CHECK(means.back() == 6.5);
}
