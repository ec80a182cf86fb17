#include "analysis/digest/fits.hpp"

#include <cmath>
#include <random>

#include "sweeps/tables/schema.hpp"
#include "tests/support/catch.hpp"

using analysis::Plane;
using analysis::StepFit;

namespace {

/// A cell's /steps and /sched, step by step.
class Steps {
 public:
  /// The requests of a step: tokens, and tokens computed before them.
  void add(const std::vector<std::pair<int, int>>& requests, double seconds) {
    sweep::StepRow row;
    row.step = static_cast<std::int64_t>(steps_.size()) + 1;
    row.t_s = steps_.empty() ? 0 : steps_.back().t_s + steps_.back().dur_s;
    row.dur_s = seconds;
    for (const auto& [tokens, before] : requests) {
      row.n_tok += tokens;
      sched_.push_back({row.step, 0, 0, sweep::SchedKind::running, tokens, before});
    }
    steps_.push_back(row);
  }
  /// The request is preempted in the step that was added last.
  void preempt() {
    sched_.push_back({steps_.back().step, 1, 0, sweep::SchedKind::preempted, 0, 0});
  }
  /// Copies hold every step up so long.
  void hold_up(double seconds) {
    for (sweep::StepRow& row : steps_) {
      row.dur_s += seconds;
      row.stall_s = seconds;
    }
  }
  /// Half of the time of each step falls into the step before it.
  void run_ahead() {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const double half = steps_[i].dur_s / 2;
      steps_[i].dur_s = half + (i + 1 < steps_.size() ? steps_[i + 1].dur_s / 2 : 0);
      if (i > 0) steps_[i].t_s = steps_[i - 1].t_s + steps_[i - 1].dur_s;
    }
  }
  /// Nothing runs for a second before the last step.
  void pause() { steps_.back().t_s += 1; }
  void add_to(StepFit& fit, int span = 1) const {
    fit.add(sweep::to_table<sweep::StepRow>(steps_), sweep::to_table<sweep::SchedRow>(sched_),
            span);
  }

 private:
  std::vector<sweep::StepRow> steps_;
  std::vector<sweep::SchedRow> sched_;
};

/// Steps of 4 ms + 30 us a token + 40 ns a KV token read + 2 ps a pair of a prompt, plus noise.
Steps made_steps(unsigned seed, int n, double noise_s) {
  std::mt19937 random(seed);
  Steps steps;
  for (int i = 0; i < n; ++i) {
    std::vector<std::pair<int, int>> requests;
    double tokens = 0, kv = 0, pairs = 0;
    for (int r = 1 + static_cast<int>(random() % 20); r > 0; --r) {
      const int chunk = random() % 8 == 0 ? 2 + static_cast<int>(random() % 512) : 1;
      const int before = static_cast<int>(random() % 10'000);
      requests.emplace_back(chunk, before);
      tokens += chunk;
      kv += before + chunk;
      for (int token = 1; chunk > 1 && token <= chunk; ++token) pairs += before + token;
    }
    const double noise = noise_s * (static_cast<double>(random() % 2001) / 1000 - 1);
    steps.add(requests, 4e-3 + 30e-6 * tokens + 40e-9 * kv + 2e-12 * pairs + noise);
  }
  return steps;
}

Plane plane_of(const StepFit& fit, std::size_t variables = StepFit::count) {
  const auto plane = fit.plane(variables);
  REQUIRE(plane);
  return *plane;
}

}  // namespace

TEST_CASE("the fit finds the coefficients that generated the steps of several cells", "[fit]") {
  StepFit fit;
  for (unsigned cell = 1; cell <= 3; ++cell) made_steps(cell, 200, 0).add_to(fit);
  const Plane plane = plane_of(fit);
  CHECK(plane.intercept == Approx(4e-3));
  CHECK(plane.slopes[StepFit::tokens] == Approx(30e-6));
  CHECK(plane.slopes[StepFit::kv_tokens] == Approx(40e-9));
  CHECK(plane.slopes[StepFit::pairs] == Approx(2e-12));
  CHECK(plane.r_squared == Approx(1));
  CHECK(plane.rms < 1e-8);
  CHECK(fit.steps() == 600);
}

TEST_CASE("time in which copies stalled a step is subtracted", "[fit]") {
  Steps steps = made_steps(1, 200, 0);
  steps.hold_up(0.5);
  StepFit fit;
  steps.add_to(fit);
  CHECK(plane_of(fit).rms < 1e-8);
}

TEST_CASE("noise leaves its root mean square, and less than all of the variance", "[fit]") {
  StepFit fit;
  made_steps(1, 20'000, 3e-3).add_to(fit);
  const Plane plane = plane_of(fit);
  CHECK(plane.intercept == Approx(4e-3).epsilon(0.05));
  CHECK(plane.slopes[StepFit::tokens] == Approx(30e-6).epsilon(0.02));
  CHECK(plane.rms == Approx(3e-3 / std::sqrt(3)).epsilon(0.02));
  CHECK(plane.r_squared > 0.5);
  CHECK(plane.r_squared < 0.99);
}

TEST_CASE("fewer variables leave the others' part to the intercept and to each other", "[fit]") {
  StepFit fit;
  made_steps(1, 2000, 0).add_to(fit);
  CHECK(plane_of(fit, 1).intercept > 4e-3);
  CHECK(plane_of(fit, 2).slopes[StepFit::tokens] > 30e-6);
  CHECK(plane_of(fit, 1).r_squared < plane_of(fit, 2).r_squared);
  CHECK(plane_of(fit, 2).r_squared < 1);
}

TEST_CASE("steps that compute nothing, and preempted requests, count for nothing", "[fit]") {
  Steps steps = made_steps(1, 50, 0);
  steps.add({}, 5);
  steps.preempt();
  StepFit fit;
  steps.add_to(fit);
  CHECK(fit.steps() == 50);
  CHECK(plane_of(fit).slopes[StepFit::tokens] == Approx(30e-6));
}

TEST_CASE("steps that are all alike determine no plane", "[fit]") {
  Steps steps;
  for (int i = 0; i < 10; ++i) steps.add({{1, i}, {1, 2 * i}}, 1e-3 * i);  // always two tokens
  StepFit fit;
  steps.add_to(fit);
  CHECK_FALSE(fit.plane(1));
  CHECK_FALSE(fit.plane(StepFit::count));
  CHECK_FALSE(StepFit().plane(1));
}

TEST_CASE("of variables that are proportional only the first is determined", "[fit]") {
  Steps steps;
  for (int i = 0; i < 10; ++i) steps.add({{i + 1, 0}}, 1e-3 * i);  // KV tokens are the tokens
  StepFit fit;
  steps.add_to(fit);
  CHECK(plane_of(fit, 1).slopes[0] == Approx(1e-3));
  CHECK_FALSE(fit.plane(2));
}

TEST_CASE("time that asynchronous steps have of each other cancels in sums over spans", "[fit]") {
  Steps steps = made_steps(1, 6400, 0);
  steps.run_ahead();
  StepFit by_step, by_span;
  steps.add_to(by_step);
  steps.add_to(by_span, StepFit::kAsyncSpan);
  CHECK(plane_of(by_step).slopes[StepFit::tokens] < 25e-6);
  CHECK(plane_of(by_span).intercept == Approx(4e-3).epsilon(0.2));
  CHECK(plane_of(by_span).slopes[StepFit::tokens] == Approx(30e-6).epsilon(0.05));
  CHECK(by_span.steps() == 6400);
}

TEST_CASE("a span has no pause in it", "[fit]") {
  Steps steps = made_steps(1, 15, 0);
  steps.add({{1, 5}}, 9);
  steps.pause();
  StepFit fit;
  steps.add_to(fit, StepFit::kAsyncSpan);
  CHECK(fit.steps() == 0);
}
