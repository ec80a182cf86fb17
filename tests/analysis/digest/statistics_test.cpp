#include "analysis/digest/statistics.hpp"

#include <cmath>
#include <limits>

#include "tests/support/catch.hpp"

using namespace analysis;

namespace {

using Values = std::vector<double>;

// Expected numbers are numpy 1.24's for these vectors: mean, std(ddof=1), percentile, polyfit and
// corrcoef squared.
const Values kX = {1, 2, 3, 5, 8, 13, 21, 34};
const Values kY = {23.9, 24.1, 24.6, 23.2, 26.0, 25.5, 31.0, 33.25};
const double kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_CASE("the mean is numpy's") {
  CHECK(mean(kX) == Approx(10.875));
  CHECK(mean(kY) == Approx(26.44375));
}

TEST_CASE("percentiles interpolate as numpy does") {
  CHECK(percentile(kY, 0) == 23.2);
  CHECK(percentile(kY, 1) == Approx(23.249));
  CHECK(percentile(kY, 25) == Approx(24.05));
  CHECK(percentile(kY, 50) == Approx(25.05));
  CHECK(percentile(kY, 75) == Approx(27.25));
  CHECK(percentile(kY, 90) == Approx(31.675));
  CHECK(percentile(kY, 99) == Approx(33.0925));
  CHECK(percentile(kY, 100) == 33.25);
  CHECK(percentile(Values{7}, 99) == 7);
}

TEST_CASE("quantiles of Student's t are those of the printed tables") {
  // Abramowitz and Stegun, table 26.10.
  CHECK(student_t_quantile(1) == Approx(12.706).margin(5e-4));
  CHECK(student_t_quantile(2) == Approx(4.303).margin(5e-4));
  CHECK(student_t_quantile(9) == Approx(2.262).margin(5e-4));
  CHECK(student_t_quantile(30) == Approx(2.042).margin(5e-4));
  CHECK(student_t_quantile(120) == Approx(1.980).margin(5e-4));
}

TEST_CASE("the tails of Student's t are those of its density, integrated") {
  for (const int freedom : {1, 2, 3, 4, 7, 10}) {
    const auto density = [&](double t) {
      return std::pow(1 + t * t / freedom, -(freedom + 1) / 2.0);
    };
    // Midpoint rule over t = x / (1 - x), which reaches infinity at x = 1.
    const auto integral = [&](double from) {
      const double start = from / (1 + from);
      double sum = 0;
      const int n = 20'000;
      for (int i = 0; i < n; ++i) {
        const double x = start + (1 - start) * (i + 0.5) / n;
        sum += density(x / (1 - x)) / ((1 - x) * (1 - x)) * (1 - start) / n;
      }
      return sum;
    };
    for (const double t : {0.5, 2.0, 5.0})
      CHECK(student_t_tails(-t, freedom) == Approx(integral(t) / integral(0)).epsilon(1e-5));
    CHECK(student_t_tails(0, freedom) == Approx(1));
  }
}

TEST_CASE("what is undefined is NaN") {
  CHECK(std::isnan(mean({})));
  CHECK(std::isnan(percentile({}, 50)));
  CHECK(std::isnan(percentile(kY, 101)));
  CHECK(std::isnan(percentile(Values{1, kNan, 2}, 50)));
}

TEST_CASE("values that were not observed are dropped") {
  CHECK(observed(Values{1, kNan, 3, kNan}) == Values{1, 3});
}
