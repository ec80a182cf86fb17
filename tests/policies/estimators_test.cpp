#include <cmath>
#include <map>

#include "tests/support/catch.hpp"
#include "workers/policies/estimators/config.hpp"
#include "workers/policies/estimators/estimator_error.hpp"
#include "workers/policies/factory.hpp"

using namespace std::chrono_literals;
using engine::JobId;
using engine::Nanos;
using engine::ToolId;
using policies::EstimatorConfig;
using policies::Evidence;
using policies::GapCall;
using policies::GapForecast;

namespace {

constexpr ToolId kLs{0}, kPytest{1};

/// An estimator that learns from calls.
struct Estimator {
  explicit Estimator(const EstimatorConfig& config) : estimator(policies::make_estimator(config)) {}
  explicit Estimator(const std::string& name) : Estimator(EstimatorConfig{.name = name}) {}

  void see(ToolId tool, double seconds, int times = 1) {
    for (int i = 0; i < times; ++i) estimator->learn({.tool = tool}, engine::from_seconds(seconds));
  }
  std::optional<GapForecast> of(ToolId tool, std::uint32_t job = 0, int turn = 0) const {
    return estimator->forecast({JobId{job}, turn, tool});
  }

  std::unique_ptr<policies::GapEstimator> estimator;
};

const policies::GapSource kGaps = [](JobId job, int turn) {
  return engine::index(job) == 9 ? Nanos{-1} : Nanos{1s} * (turn + 1);
};

/// ln of the factor by which forecasts are too long, over many calls.
std::vector<double> errors_of(const policies::EstimatorError& error, int jobs = 400) {
  const Estimator noisy({.name = "oracle", .error = error, .truth = kGaps});
  std::vector<double> errors;
  for (int i = 0; i < jobs * 5; ++i) {
    const std::uint32_t job = 10 + static_cast<std::uint32_t>(i / 5);
    const Nanos forecast = noisy.of(kLs, job, i % 5)->expected();
    errors.push_back(std::log(engine::to_seconds(forecast) / (i % 5 + 1)));
  }
  return errors;
}

}  // namespace

TEST_CASE("the tool mean is over all calls of the tool and nothing else", "[estimators]") {
  Estimator mean("tool_mean");
  CHECK_FALSE(mean.of(kLs));
  mean.see(kLs, 1.0);
  mean.see(kPytest, 60.0);
  mean.see(kLs, 2.0);
  CHECK(mean.of(kLs)->expected() == 1500ms);
  CHECK(mean.of(kPytest)->expected() == 60s);
  CHECK_FALSE(mean.of(ToolId{7}));
}

TEST_CASE("without a tool call there is no forecast from tools", "[estimators]") {
  for (const std::string name : {"tool_mean", "tool_cdf", "lognormal"}) {
    Estimator estimator(name);
    estimator.see(kLs, 1.0, 300);
    estimator.see(ToolId::none, 100.0, 300);
    CHECK_FALSE(estimator.of(ToolId::none));
    CHECK(estimator.of(kLs)->probability_within(2s) == Approx(1).margin(0.01));
  }
}

TEST_CASE("the empirical distribution passes through three stages", "[estimators]") {
  Estimator cdf("tool_cdf");
  CHECK(cdf.of(kLs)->evidence() == Evidence::prior);
  CHECK(cdf.of(kLs)->expected() == 1s);
  cdf.see(kLs, 0.2, 100);
  CHECK(cdf.of(kLs)->evidence() == Evidence::prior);
  cdf.see(kPytest, 10.0);
  CHECK(cdf.of(kLs)->evidence() == Evidence::pooled);
  CHECK(cdf.of(kPytest)->evidence() == Evidence::pooled);
  CHECK(cdf.of(kPytest)->probability_within(1s) == Approx(100.0 / 101));  // calls count, not tools
  cdf.see(kLs, 0.4);
  CHECK(cdf.of(kLs)->evidence() == Evidence::tool);
  CHECK(cdf.of(kLs)->probability_within(300ms) == Approx(100.0 / 101));
  CHECK(cdf.of(kPytest)->evidence() == Evidence::pooled);
}

TEST_CASE("a lognormal fit finds the parameters of many calls", "[estimators]") {
  Estimator fit("lognormal");
  const auto normal = GapForecast::lognormal(0, 1, Evidence::tool);
  for (int i = 0; i < 2000; ++i) {
    const double z = std::log(engine::to_seconds(normal.quantile((i + 0.5) / 2000)));
    fit.see(kLs, std::exp(-1.5 + 0.6 * z));
  }
  const GapForecast ls = *fit.of(kLs);
  CHECK(engine::to_seconds(ls.quantile(0.5)) == Approx(std::exp(-1.5)).epsilon(0.01));
  CHECK(engine::to_seconds(ls.quantile(0.975)) ==
        Approx(std::exp(-1.5 + 0.6 * 1.96)).epsilon(0.03));
}

TEST_CASE("a tool with few calls is drawn towards all tools together", "[estimators]") {
  Estimator fit("lognormal");
  CHECK(fit.of(kLs)->evidence() == Evidence::prior);
  fit.see(kLs, 0.1, 500);
  CHECK(fit.of(kPytest)->evidence() == Evidence::pooled);
  fit.see(kPytest, 10.0);
  const Nanos after_one = fit.of(kPytest)->quantile(0.5);
  CHECK((after_one > 150ms && after_one < 3s));
  fit.see(kPytest, 10.0, 200);
  CHECK(fit.of(kPytest)->quantile(0.5) > 8s);
}

TEST_CASE("the oracle knows every gap and the client nearly", "[estimators]") {
  const Estimator oracle({.name = "oracle", .truth = kGaps});
  const Estimator client({.name = "client_hint", .hints = kGaps});
  CHECK(oracle.of(ToolId::none, 0, 3)->expected() == 4s);
  CHECK(client.of(ToolId::none, 0, 3)->expected() == 4s);
  CHECK(oracle.of(kLs, 0, 3)->probability_within(3999ms) == 0);
  CHECK(client.of(kLs, 0, 3)->probability_within(3999ms) == Approx(0.5).margin(0.01));
  CHECK_FALSE(oracle.of(kLs, 9));
  CHECK_FALSE(client.of(kLs, 9));
}

TEST_CASE("a share of forecasts is off by the outlier factor, and a share is missing",
          "[estimators]") {
  const std::vector<double> errors = errors_of({.outliers = 0.3, .outlier_factor = 4});
  std::map<double, int> found;
  for (const double e : errors) ++found[std::round(std::exp(e) * 100) / 100];
  CHECK(found.size() == 3);
  CHECK(found[1] > 0.6 * static_cast<double>(errors.size()));
  CHECK(found[4] > 0.1 * static_cast<double>(errors.size()));
  CHECK(found[0.25] > 0.1 * static_cast<double>(errors.size()));

  const policies::EstimatorError often{.missing = 0.25};
  int missing = 0;
  for (std::uint32_t job = 0; job < 1000; ++job)
    missing += policies::error_factor(often, engine::JobId{job}, 3) ? 0 : 1;
  CHECK(missing > 200);
  CHECK(missing < 300);
  const Estimator silent({.name = "oracle", .error = {.missing = 1}, .truth = kGaps});
  CHECK_FALSE(silent.of(kLs).has_value());
}

TEST_CASE("an injected error has the spread and the bias that were asked for", "[estimators]") {
  const std::vector<double> errors = errors_of({.bias = 2, .sigma = 0.5});
  double sum = 0, squares = 0;
  for (const double e : errors) sum += e;
  const double mean = sum / static_cast<double>(errors.size());
  for (const double e : errors) squares += (e - mean) * (e - mean);
  CHECK(mean == Approx(std::log(2)).margin(0.05));
  CHECK(std::sqrt(squares / static_cast<double>(errors.size())) == Approx(0.5).margin(0.03));
}

TEST_CASE("an injected error depends on seed, job and turn alone", "[estimators]") {
  const policies::EstimatorError error{.sigma = 1, .seed = 7};
  CHECK(errors_of(error, 20) == errors_of(error, 20));
  CHECK(errors_of(error, 20) != errors_of({.sigma = 1, .seed = 8}, 20));
  Estimator one({.name = "oracle", .error = error, .truth = kGaps}),
      other = Estimator({.name = "oracle", .error = error, .truth = kGaps});
  other.see(kLs, 3, 5);
  CHECK(one.of(kLs, 3, 1)->expected() == other.of(kPytest, 3, 1)->expected());
  CHECK(one.of(kLs, 3, 1)->expected() != one.of(kLs, 4, 1)->expected());
}
