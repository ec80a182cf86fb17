#include "analysis/digest/digest.hpp"

#include <cmath>
#include <random>

#include "tests/support/catch.hpp"

using namespace analysis;

namespace {
using Values = std::vector<double>;
}

TEST_CASE("every number of tokens lies within its bin", "[report]") {
  for (std::int64_t tokens = 0; tokens < 20'000; ++tokens) {
    const int bin = TokenHistogram::bin_of(tokens);
    const bool within =
        TokenHistogram::first_of(bin) <= tokens && tokens < TokenHistogram::first_of(bin + 1);
    if (!within) FAIL(tokens << " is in bin " << bin);
  }
  CHECK(TokenHistogram::bin_of(7) + 1 == TokenHistogram::bin_of(8));
  CHECK(TokenHistogram::first_of(TokenHistogram::bin_of(2048)) == 2048);
}

TEST_CASE("a histogram of tokens counts what numpy counts between its edges", "[report]") {
  // python3 -c 'import numpy as np; print(np.histogram([1, 1, 4, 9, 10, 100, 2047, 2048, 5000],
  //             bins=[0, 1, 2, 4, 5, 8, 10, 12, 2048, 2436, 6000])[0])'  (numpy 1.24)
  TokenHistogram histogram;
  for (const int tokens : {1, 1, 4, 9, 10, 100, 2047, 2048, 5000}) histogram.add(tokens);
  const auto between = [&](std::int64_t from, std::int64_t to) {
    std::int64_t sum = 0;
    for (const auto& [bin, count] : histogram.counts())
      if (TokenHistogram::first_of(bin) >= from && TokenHistogram::first_of(bin) < to) sum += count;
    return sum;
  };
  CHECK(between(0, 1) == 0);
  CHECK(between(1, 2) == 2);
  CHECK(between(4, 5) == 1);
  CHECK(between(8, 10) == 1);
  CHECK(between(10, 12) == 1);
  CHECK(between(12, 2048) == 2);
  CHECK(between(2048, 2436) == 1);
  CHECK(between(2436, 6000) == 1);
}

TEST_CASE("thinning points keeps outliers and the number of points", "[report]") {
  ThinnedPoints points, others;
  std::mt19937 random(1);
  for (int i = 0; i < 10'000; ++i) points.add(static_cast<double>(1 + random() % 4), 0.024);
  points.add(2048, 9.0);
  others.add(2048, 9.1);
  others.add(0, 0.001);
  points.add(others);
  std::int64_t count = 0;
  bool has_outlier = false;
  for (const ThinnedPoints::Point& point : points.points()) {
    count += point.count;
    has_outlier = has_outlier || (point.x == 2048 && point.y == 9.0 && point.count == 2);
  }
  CHECK(count == 10'003);
  CHECK(has_outlier);
  CHECK(points.points().size() <= 6);
}

TEST_CASE("levels over time are weighted by how long they hold", "[report]") {
  CHECK(bucket_means(Values{0, 1, 3}, Values{10, 0, 4}, 4, 2) == Values{5, 2});
  CHECK(bucket_means(Values{0, 50, 50.5}, Values{1, 9, 1}, 100, 4)[2] == Approx(1.16));
}

TEST_CASE("spans before the first step have no level", "[report]") {
  const Values means = bucket_means(Values{5}, Values{1}, 10, 2);
  CHECK(std::isnan(means[0]));
  CHECK(means[1] == 1);
  CHECK(bucket_means({}, {}, 10, 2).empty());
}
