#include "analysis/digest/statistics.hpp"

#include <cmath>
#include <random>

#include "tests/support/catch.hpp"

using analysis::LineFit;
using analysis::LineSums;

namespace {

// Four milliseconds of noise around 23.7 ms + 25.8 us a token, made and fitted by
//   python3 -c 'import numpy as np; r = np.random.default_rng(7); x = np.array([1, 2, 4, 60, 61,
//   300, 512, 900, 1500, 2048.]); y = np.round(.0237 + 25.8e-6 * x + r.normal(0, .004, 10), 6); s,
//   i = np.polyfit(x, y, 1); print(*y, s, i, np.corrcoef(x, y)[0, 1] ** 2)'
// with numpy 1.24.
const std::vector<double> kTokens = {1, 2, 4, 60, 61, 300, 512, 900, 1500, 2048};
const std::vector<double> kSeconds = {0.023731, 0.024947, 0.022707, 0.021686, 0.023455,
                                      0.027473, 0.03715,  0.052281, 0.060431, 0.074057};

LineSums sums_of(std::size_t from, std::size_t to) {
  LineSums sums;
  for (std::size_t i = from; i < to; ++i) sums.add(kTokens[i], kSeconds[i]);
  return sums;
}

void check_same(const LineFit& a, const LineFit& b) {
  CHECK(a.slope == Approx(b.slope).epsilon(1e-10));
  CHECK(a.intercept == Approx(b.intercept).epsilon(1e-10));
  CHECK(a.r_squared == Approx(b.r_squared).epsilon(1e-10));
  CHECK(a.n == b.n);
}

/// The line by deviations from the means, in two passes.
LineFit line_in_two_passes(const std::vector<double>& x, const std::vector<double>& y) {
  const double mean_x = analysis::mean(x), mean_y = analysis::mean(y);
  double xx = 0, xy = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
  }
  return {xy / xx, mean_y - xy / xx * mean_x, xy * xy / (xx * yy), x.size()};
}

}  // namespace

TEST_CASE("the line fitted to a stream of steps is numpy's", "[regression]") {
  const LineFit fit = sums_of(0, kTokens.size()).fit();
  CHECK(fit.slope == Approx(2.574820493003258e-05));
  CHECK(fit.intercept == Approx(0.022918667183698446));
  CHECK(fit.r_squared == Approx(0.9791094835499662));
  CHECK(fit.n == 10);
}

TEST_CASE("sums of disjoint sets of steps join to the sums of all", "[regression]") {
  const LineFit whole = sums_of(0, 10).fit();
  for (std::size_t cut = 0; cut <= 10; ++cut) {
    LineSums joined = sums_of(0, cut);
    joined.add(sums_of(cut, 10));
    check_same(joined.fit(), whole);
  }
}

TEST_CASE("sums give the line of two passes for any points", "[regression]") {
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<double> x, y;
    LineSums sums;
    for (int i = 0; i < 2 + round; ++i) {
      // Far from zero, where sums of squares would cancel.
      x.push_back(1e6 + static_cast<double>(random() % 2048));
      y.push_back(1e3 + static_cast<double>(random() % 1000) / 1000);
      sums.add(x.back(), y.back());
    }
    const LineFit expected = line_in_two_passes(x, y);
    if (std::isnan(expected.slope)) continue;
    CHECK(sums.fit().slope == Approx(expected.slope).epsilon(1e-6).margin(1e-12));
    CHECK(sums.fit().r_squared == Approx(expected.r_squared).epsilon(1e-6).margin(1e-9));
  }
}

TEST_CASE("points of equal size have no fitted line", "[regression]") {
  LineSums sums;
  CHECK(std::isnan(sums.fit().slope));
  sums.add(4, 1);
  sums.add(4, 2);
  CHECK(std::isnan(sums.fit().slope));
  CHECK(sums.fit().n == 2);
}
