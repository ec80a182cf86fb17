#include "analysis/cell/statistics.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>

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

TEST_CASE("mean and standard deviation are numpy's") {
  CHECK(mean(kX) == Approx(10.875));
  CHECK(mean(kY) == Approx(26.44375));
  CHECK(sample_standard_deviation(kY) == Approx(3.6656160561941795));
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

TEST_CASE("a line is fitted as numpy does") {
  const LineFit fit = fit_line(kX, kY);
  CHECK(fit.slope == Approx(0.3058851415413789));
  CHECK(fit.intercept == Approx(23.117249085737505));
  CHECK(fit.r_squared == Approx(0.9180527928819541));
  CHECK(fit.n == 8);
}

TEST_CASE("a line through points on a line explains everything") {
  const LineFit fit = fit_line(Values{0, 1, 2048}, Values{23.7, 23.7258, 23.7 + 0.0258 * 2048});
  CHECK(fit.slope == Approx(0.0258));
  CHECK(fit.intercept == Approx(23.7));
  CHECK(fit.r_squared == Approx(1));
}

TEST_CASE("the bootstrap interval agrees with a million resamples in numpy") {
  const Interval wide = bootstrap_mean_interval(kY);
  CHECK(wide.low == Approx(24.325).margin(0.05));
  CHECK(wide.high == Approx(29.0125).margin(0.1));
  const Interval narrow = bootstrap_mean_interval(kY, {.confidence = 0.90});
  CHECK(narrow.low == Approx(24.5375).margin(0.05));
  CHECK(narrow.high == Approx(28.58125).margin(0.1));
}

TEST_CASE("the bootstrap interval depends on the seed alone") {
  const auto interval = [](std::uint64_t seed) {
    return bootstrap_mean_interval(kY, {.resamples = 100, .seed = seed});
  };
  CHECK(interval(1).low == interval(1).low);
  CHECK(interval(1).high == interval(1).high);
  CHECK(interval(1).low != interval(2).low);
  const Interval constant = bootstrap_mean_interval(Values{4, 4, 4});
  CHECK(constant.low == 4);
  CHECK(constant.high == 4);
}

TEST_CASE("what is undefined is NaN") {
  CHECK(std::isnan(mean({})));
  CHECK(std::isnan(sample_standard_deviation(Values{1})));
  CHECK(std::isnan(percentile({}, 50)));
  CHECK(std::isnan(percentile(kY, 101)));
  CHECK(std::isnan(percentile(Values{1, kNan, 2}, 50)));
  CHECK(std::isnan(bootstrap_mean_interval({}).low));
  CHECK(std::isnan(bootstrap_mean_interval(Values{1, kNan}).high));
  CHECK(std::isnan(fit_line(Values{2, 2}, Values{1, 3}).slope));
  CHECK(std::isnan(fit_line(Values{1, 2}, Values{3, 3}).r_squared));
  CHECK(fit_line(Values{1, 2}, Values{3, 3}).intercept == 3);
}

TEST_CASE("values that were not observed are dropped") {
  CHECK(observed(Values{1, kNan, 3, kNan}) == Values{1, 3});
}

TEST_CASE("a line through unequal numbers of x and y is refused") {
  CHECK_THROWS_AS(fit_line(kX, Values{1}), std::invalid_argument);
}
