#include "analysis/compare/estimate.hpp"

#include <cmath>
#include <random>

#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"

using analysis::BySeed;
using analysis::mean_of;
using analysis::Ratio;
using analysis::ratio_of;

TEST_CASE("a mean has the interval of Student's t from three repeats on") {
  const analysis::Estimate three = mean_of({{42, 10}, {43, 12}, {44, 14}});
  CHECK(three.value == Approx(12));
  CHECK(three.interval.low == Approx(12 - 4.30265 * 2 / std::sqrt(3)));
  CHECK(three.interval.high == Approx(12 + 4.30265 * 2 / std::sqrt(3)));
  const analysis::Estimate two = mean_of({{42, 10}, {43, 12}});
  CHECK(two.value == Approx(11));
  CHECK(std::isnan(two.interval.low));
  CHECK(std::isnan(mean_of({}).value));
}

TEST_CASE("a ratio is the geometric mean of the ratios of equal seeds") {
  const BySeed base = {{42, 10}, {43, 20}, {44, 40}, {45, 1000}};
  const Ratio half = ratio_of({{42, 5}, {43, 10}, {44, 20}}, base);
  CHECK(half.paired);
  CHECK(half.repeats == 3);
  CHECK(half.value == Approx(0.5));
  CHECK(half.interval.low == Approx(0.5));  // it is the same in every repeat
  CHECK(half.p < 1e-9);
  const Ratio varied = ratio_of({{42, 10}, {43, 40}, {44, 160}}, base);
  CHECK(varied.value == Approx(2));
  CHECK(varied.interval.low == Approx(2 * std::exp(-4.30265 * std::log(2) / std::sqrt(3))));
  CHECK(varied.p == Approx(0.2254).margin(1e-4));  // t = sqrt(3), two degrees of freedom
}

TEST_CASE("without a common seed a ratio is of independent samples, and its interval is wider") {
  const BySeed base = {{1, 10}, {2, 20}, {3, 40}};
  const Ratio apart = ratio_of({{4, 5}, {5, 10}, {6, 20}}, base);
  CHECK_FALSE(apart.paired);
  CHECK(apart.value == Approx(0.5));
  CHECK(apart.interval.low < 0.1);
  CHECK(apart.interval.high > 2);
}

TEST_CASE("a ratio of counts of which some are zero is that of their means") {
  const BySeed base = {{42, 10}, {43, 20}, {44, 30}};
  const Ratio ratio = ratio_of({{42, 0}, {43, 10}, {44, 20}}, base);
  CHECK(ratio.value == Approx(0.5));
  CHECK((ratio.interval.low < 0.5 && ratio.interval.high > 0.5));
}

TEST_CASE("two figures that are 0 in every repeat do not differ, and any is above one that is 0") {
  const BySeed zero = {{42, 0}, {43, 0}, {44, 0}}, some = {{42, 10}, {43, 20}, {44, 30}};
  const Ratio equal = ratio_of(zero, zero);
  CHECK(equal.value == 1);
  CHECK(equal.p == 1);
  const Ratio above = ratio_of(some, zero);
  CHECK(std::isinf(above.value));
  CHECK(above.sign == 1);
  CHECK(above.p == Approx(0.0742).margin(1e-4));  // t = sqrt(12), two degrees of freedom
  CHECK(std::isnan(above.interval.low));
}

TEST_CASE("of the intervals of three repeats 95 % contain the ratio that they estimate") {
  std::mt19937 random(7);
  std::normal_distribution<double> load(3, 0.4), noise(0, 0.1);
  int inside = 0;
  const int rounds = 2000;
  for (int round = 0; round < rounds; ++round) {
    BySeed base, value;
    for (const int seed : {42, 43, 44}) {
      base[seed] = std::exp(load(random));
      value[seed] = 0.8 * base[seed] * std::exp(noise(random));
    }
    const Ratio ratio = ratio_of(value, base);
    inside += ratio.interval.low <= 0.8 && 0.8 <= ratio.interval.high;
  }
  CHECK(inside > 0.93 * rounds);
  CHECK(inside < 0.97 * rounds);
}

TEST_CASE("throughput and hits are better when higher, times and waste when lower") {
  using analysis::Direction;
  for (const char* figure :
       {"total_tok_s", "output_tok_per_s", "decode_tok_s", "prefix_hit_rate", "disk_hit_rate"})
    CHECK(analysis::direction_of(figure) == Direction::higher);
  for (const char* figure : {"jct_wall_mean_s", "ttft_p99_s", "preemptions", "gap_held_tok_s"})
    CHECK(analysis::direction_of(figure) == Direction::lower);
  CHECK(analysis::direction_of("steps") == Direction::neither);
}
