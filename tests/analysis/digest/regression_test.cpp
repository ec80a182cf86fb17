#include "analysis/digest/fits.hpp"

#include <cmath>
#include <random>

#include "analysis/digest/statistics.hpp"
#include "tests/support/catch.hpp"

using analysis::LeastSquares;
using analysis::Plane;

namespace {

// Four milliseconds of noise around 23.7 ms + 25.8 us a token, made and fitted by
//   python3 -c 'import numpy as np; r = np.random.default_rng(7); x = np.array([1, 2, 4, 60, 61,
//   300, 512, 900, 1500, 2048.]); y = np.round(.0237 + 25.8e-6 * x + r.normal(0, .004, 10), 6); s,
//   i = np.polyfit(x, y, 1); print(*y, s, i, np.corrcoef(x, y)[0, 1] ** 2)'
// with numpy 1.24.
const std::vector<double> kTokens = {1, 2, 4, 60, 61, 300, 512, 900, 1500, 2048};
const std::vector<double> kSeconds = {0.023731, 0.024947, 0.022707, 0.021686, 0.023455,
                                      0.027473, 0.03715,  0.052281, 0.060431, 0.074057};

LeastSquares sums_of(std::size_t from, std::size_t to) {
  LeastSquares sums(1);
  for (std::size_t i = from; i < to; ++i) sums.add(kTokens[i], kSeconds[i]);
  return sums;
}

void check_same(const Plane& a, const Plane& b) {
  CHECK(a.slopes[0] == Approx(b.slopes[0]).epsilon(1e-10));
  CHECK(a.intercept == Approx(b.intercept).epsilon(1e-10));
  CHECK(a.r_squared == Approx(b.r_squared).epsilon(1e-10));
}

/// The line by deviations from the means, in two passes.
Plane line_in_two_passes(const std::vector<double>& x, const std::vector<double>& y) {
  const double mean_x = analysis::mean(x), mean_y = analysis::mean(y);
  double xx = 0, xy = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
  }
  return {mean_y - xy / xx * mean_x, {xy / xx}, xy * xy / (xx * yy), 0};
}

}  // namespace

TEST_CASE("the line fitted to a stream of steps is numpy's", "[regression]") {
  const LeastSquares sums = sums_of(0, kTokens.size());
  const Plane fit = sums.fit().value();
  CHECK(fit.slopes[0] == Approx(2.574820493003258e-05));
  CHECK(fit.intercept == Approx(0.022918667183698446));
  CHECK(fit.r_squared == Approx(0.9791094835499662));
  CHECK(sums.n() == 10);
}

TEST_CASE("sums of disjoint sets of steps join to the sums of all", "[regression]") {
  const Plane whole = sums_of(0, 10).fit().value();
  for (std::size_t cut = 0; cut <= 10; ++cut) {
    LeastSquares joined = sums_of(0, cut);
    joined.add(sums_of(cut, 10));
    CHECK(joined.n() == 10);
    check_same(joined.fit().value(), whole);
  }
}

TEST_CASE("sums give the line of two passes for any points", "[regression]") {
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<double> x, y;
    LeastSquares sums(1);
    for (int i = 0; i < 2 + round; ++i) {
      // Far from zero, where sums of squares would cancel.
      x.push_back(1e6 + static_cast<double>(random() % 2048));
      y.push_back(1e3 + static_cast<double>(random() % 1000) / 1000);
      sums.add(x.back(), y.back());
    }
    const Plane expected = line_in_two_passes(x, y);
    if (std::isnan(expected.slopes[0])) continue;
    const Plane fit = sums.fit().value();
    CHECK(fit.slopes[0] == Approx(expected.slopes[0]).epsilon(1e-6).margin(1e-12));
    CHECK(fit.r_squared == Approx(expected.r_squared).epsilon(1e-6).margin(1e-9));
  }
}

TEST_CASE("points of equal size have no fitted line, and equal values no share explained",
          "[regression]") {
  LeastSquares sums(1);
  CHECK_FALSE(sums.fit());
  sums.add(4, 1);
  sums.add(4, 2);
  CHECK_FALSE(sums.fit());
  LeastSquares flat(1);
  flat.add(1, 3);
  flat.add(2, 3);
  CHECK(std::isnan(flat.fit()->r_squared));
  CHECK(flat.fit()->intercept == 3);
}

TEST_CASE("a line through points on a line explains everything") {
  LeastSquares sums(1);
  for (const double x : {0, 1, 2048}) sums.add(x, 23.7 + 0.0258 * x);
  CHECK(sums.fit()->slopes[0] == Approx(0.0258));
  CHECK(sums.fit()->intercept == Approx(23.7));
  CHECK(sums.fit()->r_squared == Approx(1));
}
