#include "workers/workload/arrivals.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/catch.hpp"
#include "workers/engine/base/errors.hpp"

using engine::Nanos;
using namespace workload;

using Times = std::vector<Nanos>;

TEST_CASE("45 seconds of Poisson arrivals with seed 42 bring the published numbers of jobs",
          "[arrivals]") {
  CHECK(poisson_arrivals_in_window(1, 42, 45).size() == 54);
  CHECK(poisson_arrivals_in_window(3, 42, 45).size() == 133);
  CHECK(poisson_arrivals_in_window(6, 42, 45).size() == 255);
  CHECK(poisson_arrivals_in_window(10, 42, 45).size() == 433);
  CHECK(poisson_arrivals_in_window(15, 42, 45).size() == 665);
}

TEST_CASE("Poisson arrivals are the running sum of CPython's exponential intervals", "[arrivals]") {
  // random.Random(42).expovariate(6), summed, to the nanosecond
  CHECK(poisson_arrivals(6, 42, 5) == Times{Nanos{170'010'048}, Nanos{174'231'521},
                                            Nanos{227'835'532}, Nanos{269'933'229},
                                            Nanos{492'198'675}});
}

TEST_CASE("a window holds a prefix of the arrivals that a count gives", "[arrivals]") {
  const auto counted = poisson_arrivals(6, 7, 400);
  const auto windowed = poisson_arrivals_in_window(6, 7, 45);
  REQUIRE(windowed.size() < counted.size());
  CHECK(std::equal(windowed.begin(), windowed.end(), counted.begin()));
  CHECK(counted[windowed.size()] > std::chrono::seconds{45});
  CHECK(std::is_sorted(counted.begin(), counted.end()));
}

TEST_CASE("a window shorter than the first interval is empty", "[arrivals]") {
  CHECK(poisson_arrivals_in_window(1, 42, 0.5).empty());
}

TEST_CASE("arrivals depend on the seed", "[arrivals]") {
  CHECK(poisson_arrivals(6, 42, 10) == poisson_arrivals(6, 42, 10));
  CHECK(poisson_arrivals(6, 42, 10) != poisson_arrivals(6, 43, 10));
}

TEST_CASE("a rate that is no positive number is refused", "[arrivals]") {
  const double nan = std::nan(""), infinite = std::numeric_limits<double>::infinity();
  for (const double rate : {0.0, -1.0, nan, infinite, -infinite}) {
    CAPTURE(rate);
    CHECK_THROWS_AS(poisson_arrivals(rate, 42, 1), engine::InputError);
    CHECK_THROWS_AS(poisson_arrivals_in_window(rate, 42, 45), engine::InputError);
  }
}

TEST_CASE("a window that is not a positive number of seconds is refused", "[arrivals]") {
  for (const double window : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()})
    CHECK_THROWS_AS(poisson_arrivals_in_window(6, 42, window), engine::InputError);
}

TEST_CASE("rates with arrivals beyond memory or time are refused", "[arrivals]") {
  CHECK_THROWS_AS(poisson_arrivals_in_window(1e300, 42, 45), engine::InputError);
  CHECK_THROWS_AS(poisson_arrivals(1e-300, 42, 1), engine::InputError);
}

TEST_CASE("a closed batch arrives at the start", "[arrivals]") {
  CHECK(closed_batch(3) == Times(3, Nanos{0}));
}
