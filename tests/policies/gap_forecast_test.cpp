#include "workers/policies/estimators/gap_forecast.hpp"

#include <cmath>

#include "tests/support/catch.hpp"

using namespace std::chrono_literals;
using engine::from_seconds;
using engine::Nanos;
using engine::to_seconds;
using policies::Evidence;
using policies::GapForecast;

namespace {

const std::vector<double> kSeen = {0.1, 0.2, 0.2, 0.4, 9.0};

std::vector<GapForecast> shapes() {
  return {GapForecast::lognormal(-1.2, 0.9, Evidence::tool),
          GapForecast::lognormal(1.0, 1.6, Evidence::tool),
          GapForecast::around(700ms, 0.25, Evidence::told),
          GapForecast::exponential(1s, Evidence::prior),
          GapForecast::of_samples(kSeen, Evidence::pooled),
          GapForecast::of_samples(kSeen, Evidence::pooled).scaled(2.5),
          GapForecast::lognormal(-1.2, 0.9, Evidence::tool).scaled(0.3)};
}

/// The largest worth of a hold of up to a minute, in steps of 2 ms.
double best_worth_by_trying(const GapForecast& forecast, double benefit_s) {
  double best = 0;
  for (int ms = 2; ms <= 60'000; ms += 2) {
    const double t = ms * 1e-3;
    best = std::max(best, benefit_s * forecast.probability_within(from_seconds(t)) - t);
  }
  return best;
}

}  // namespace

TEST_CASE("a quantile is the time within which that share of calls returns", "[gap_forecast]") {
  for (const GapForecast& forecast : shapes()) {
    for (const double p : {0.05, 0.3, 0.5, 0.9, 0.99}) {
      const Nanos t = forecast.quantile(p);
      CHECK(forecast.probability_within(t + 2ns) >= p - 1e-9);
      CHECK(forecast.probability_within(t - 2ns) <= p + 1e-9);
    }
  }
}

TEST_CASE("a forecast of one value knows it exactly", "[gap_forecast]") {
  const auto sure = GapForecast::around(1500ms, 0, Evidence::told);
  CHECK(sure.expected() == 1500ms);
  CHECK(sure.probability_within(1500ms) == 1);
  CHECK(sure.probability_within(1499ms) == 0);
  CHECK(std::chrono::abs(sure.quantile(0.5) - 1500ms) <= 1us);
}

TEST_CASE("the expected duration is the mean of the distribution", "[gap_forecast]") {
  CHECK(to_seconds(GapForecast::of_samples(kSeen, Evidence::tool).expected()) == Approx(1.98));
  CHECK(to_seconds(GapForecast::lognormal(0, 1, Evidence::tool).expected()) ==
        Approx(std::exp(0.5)));
  CHECK(GapForecast::exponential(3s, Evidence::prior).scaled(2).expected() == 6s);
}

TEST_CASE("a tool that has been running for long is expected to run longer", "[gap_forecast]") {
  for (const GapForecast& forecast : shapes()) {
    for (const auto elapsed : {0ms, 100ms, 450ms, 5000ms, 100'000ms}) {
      CHECK(forecast.quantile_after(elapsed, 0.5) >= elapsed);
      CHECK(forecast.quantile_after(elapsed, 0.5) >= forecast.quantile(0.5));
    }
  }
  const auto seen = GapForecast::of_samples(kSeen, Evidence::tool);
  CHECK(seen.quantile_after(300ms, 0.5) == 400ms);
  CHECK(seen.quantile_after(500ms, 0.5) == 9s);
  CHECK(seen.quantile_after(10s, 0.5) == 10s);
  // A memoryless distribution: another second, however long it has been.
  const auto memoryless = GapForecast::exponential(1s, Evidence::prior);
  CHECK(to_seconds(memoryless.quantile_after(7s, 0.5) - 7s) == Approx(std::log(2)));
}

TEST_CASE("the best hold is worth as much as any that trying finds", "[gap_forecast]") {
  for (const GapForecast& forecast : shapes()) {
    for (const double benefit_s : {0.05, 0.3, 1.0, 2.7, 20.0}) {
      const double hold = to_seconds(forecast.best_hold(benefit_s));
      const double worth = benefit_s * forecast.probability_within(from_seconds(hold)) - hold;
      INFO("benefit " << benefit_s << ", hold " << hold);
      CHECK(worth >= best_worth_by_trying(forecast, benefit_s) - 2.1e-3);
      CHECK(worth >= 0);
    }
  }
}

TEST_CASE("under the exponential prior of 1 s the best hold is ln of the benefit",
          "[gap_forecast]") {
  const auto prior = GapForecast::exponential(1s, Evidence::prior);
  CHECK(prior.best_hold(1.0) == 0s);
  CHECK(prior.best_hold(0.2) == 0s);
  CHECK(to_seconds(prior.best_hold(5.0)) == Approx(std::log(5.0)));
}

TEST_CASE("of holds that are worth the same the shortest is taken", "[gap_forecast]") {
  const std::vector<double> two = {1.0, 2.0};
  // All holds are worth 0, as is not holding.
  CHECK(GapForecast::of_samples(two, Evidence::tool).best_hold(2.0) == 0s);
  // 3/2 - 1 = 3 - 2 - 1/2
  const std::vector<double> apart = {1.0, 2.5};
  CHECK(GapForecast::of_samples(apart, Evidence::tool).best_hold(3.0) == 1s);
  CHECK(GapForecast::of_samples(apart, Evidence::tool).best_hold(3.1) == 2500ms);
}

TEST_CASE("nothing is held for no benefit", "[gap_forecast]") {
  for (const GapForecast& forecast : shapes()) {
    CHECK(forecast.best_hold(0) == 0s);
    CHECK(forecast.best_hold(-3) == 0s);
  }
}
