#include "workers/workload/random.hpp"

#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "tests/support/catch.hpp"

using workload::Random;

namespace {

struct Vector {
  std::int64_t seed;
  double first[3];    // random()
  double thousandth;  // random()
  double sum;         // of 1,000 expovariate(6)
};

// Printed by Python 3.11's random.Random(seed).
const Vector kPython[] = {
    {0,
     {0.8444218515250481, 0.7579544029403025, 0.420571580830845},
     0.4804125346981437,
     164.1183900556758},
    {1,
     {0.13436424411240122, 0.8474337369372327, 0.763774618976614},
     0.7062615472551386,
     173.51188943739436},
    {42,
     {0.6394267984578837, 0.025010755222666936, 0.27502931836911926},
     0.8554501933059546,
     175.84247550469613},
    {-42,
     {0.6394267984578837, 0.025010755222666936, 0.27502931836911926},
     0.8554501933059546,
     175.84247550469613},
    {(1LL << 40) + 7,
     {0.6137037779936511, 0.8149162973309487, 0.9450115087592873},
     0.07764916333699712,
     165.01763116610374},
    {std::numeric_limits<std::int64_t>::max(),
     {0.3166448820870279, 0.631259308253863, 0.8035542479972343},
     0.17919584474876615,
     167.2053560687801},
    {std::numeric_limits<std::int64_t>::min(),
     {0.5534639983914199, 0.9406144709090462, 0.24199432111690833},
     0.41421308483187,
     164.53520347212282},
};

template <class Draw>
std::vector<double> draws(int count, Draw draw) {
  std::vector<double> values(static_cast<std::size_t>(count));
  for (double& value : values) value = draw();
  return values;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

TEST_CASE("uniform numbers equal CPython's bit by bit for one- and two-word seeds", "[random]") {
  for (const Vector& python : kPython) {
    CAPTURE(python.seed);
    Random random(python.seed);
    const auto values = draws(1000, [&] { return random.random(); });
    for (std::size_t i = 0; i < 3; ++i) CHECK(values[i] == python.first[i]);
    CHECK(values.back() == python.thousandth);
  }
}

TEST_CASE("exponential numbers equal CPython's", "[random]") {
  for (const Vector& python : kPython) {
    CAPTURE(python.seed);
    Random random(python.seed);
    const auto values = draws(1000, [&] { return random.expovariate(6); });
    // Another C library's logarithm may differ in the last bit.
    CHECK(std::accumulate(values.begin(), values.end(), 0.0) == Approx(python.sum).epsilon(1e-14));
  }
}

TEST_CASE("normal numbers have mean 0, deviation 1 and the tails of the normal law", "[random]") {
  Random random(7);
  const auto values = draws(200'000, [&] { return random.normal(); });
  const double average = mean(values);
  double square = 0;
  int within_one = 0, beyond_three = 0;
  for (const double x : values) {
    square += (x - average) * (x - average);
    within_one += std::abs(x) < 1;
    beyond_three += std::abs(x) > 3;
  }
  CHECK(average == Approx(0).margin(0.01));
  CHECK(square / 200'000 == Approx(1).margin(0.02));
  CHECK(within_one / 200'000.0 == Approx(0.6827).margin(0.005));
  CHECK(beyond_three / 200'000.0 == Approx(0.0027).margin(0.0006));
}

TEST_CASE("the logarithm of a lognormal number is normal with the given mean and deviation",
          "[random]") {
  Random random(7), twin(7);
  for (int i = 0; i < 100; ++i)
    CHECK(std::log(random.lognormal(4.6, 1.1)) == Approx(4.6 + 1.1 * twin.normal()));
}

TEST_CASE("whole numbers below a bound are uniform", "[random]") {
  Random random(3);
  std::vector<int> seen(6);
  for (int i = 0; i < 60'000; ++i) ++seen.at(random.below(6));
  for (const int count : seen) CHECK(count == Approx(10'000).margin(400));
}

TEST_CASE("shuffling reorders without losing anything, and reaches every order", "[random]") {
  Random random(5);
  std::set<std::vector<int>> orders;
  for (int i = 0; i < 1000; ++i) {
    std::vector<int> values = {1, 2, 3, 4};
    random.shuffle(values);
    CHECK(std::is_permutation(values.begin(), values.end(), std::vector<int>{1, 2, 3, 4}.begin()));
    orders.insert(values);
  }
  CHECK(orders.size() == 24);
}
