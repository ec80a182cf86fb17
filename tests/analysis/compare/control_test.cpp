
#include <cmath>
#include <random>

#include "analysis/compare/compare.hpp"
#include "tests/analysis/archived_cells.hpp"
#include "tests/support/catch.hpp"

using analysis::BySeed;
using analysis::Controlled;
using analysis::controlled_ratio;
using Catch::Matchers::Contains;

namespace {

/// Log ratios of seeds in a simulator, and on a machine where they are `slope` times as large and
/// noisy. The true ratio on the machine is 1.
struct TwoWorlds {
  TwoWorlds(int measured, double slope, double noise, std::mt19937& random) {
    std::normal_distribution<double> normal;
    for (int seed = 0; seed < 30; ++seed) {
      const double simulated = 0.1 * normal(random);
      sim[seed] = std::exp(0.3 + simulated);
      ones[seed] = 1;
      if (seed < measured) real[seed] = std::exp(slope * simulated + noise * normal(random));
    }
  }
  Controlled controlled() const { return controlled_ratio(real, ones, sim, ones).value(); }

  BySeed real, sim, ones;
};

struct Trials {
  double covered = 0;  // percent of the intervals that contain the true ratio
  double width = 0;    // of an interval with the control, by that of one without: geometric mean
};

Trials trials_of(int measured, double slope, double noise) {
  constexpr int kTrials = 4000;
  std::mt19937 random(1);
  Trials trials;
  double log_widths = 0;
  for (int i = 0; i < kTrials; ++i) {
    const TwoWorlds worlds(measured, slope, noise, random);
    const analysis::Interval with = worlds.controlled().ratio.interval;
    const analysis::Interval without = analysis::ratio_of(worlds.real, worlds.ones).interval;
    trials.covered += with.low <= 1 && 1 <= with.high ? 100.0 / kTrials : 0;
    log_widths += std::log(std::log(with.high / with.low) / std::log(without.high / without.low));
  }
  trials.width = std::exp(log_widths / kTrials);
  return trials;
}

}  // namespace

TEST_CASE("intervals with control variates cover the true ratio in 95 % of trials", "[control]") {
  for (const int measured : {3, 5, 6, 10}) {
    for (const double slope : {0.0, 0.5, 1.0, 1.5}) {
      for (const double noise : {0.02, 0.1}) {
        INFO(measured << " seeds, slope " << slope << ", noise " << noise);
        const double covered = trials_of(measured, slope, noise).covered;
        CHECK((covered > 94 && covered < 98.5));
      }
    }
  }
}

TEST_CASE("a control variate shrinks the interval the more the simulator foretells", "[control]") {
  for (const int measured : {3, 10}) {
    INFO(measured << " seeds");
    const double closely = trials_of(measured, 1, 0.01).width,
                 fairly = trials_of(measured, 1, 0.05).width,
                 hardly = trials_of(measured, 1, 0.3).width;
    CHECK(closely < 0.7);
    CHECK(closely < fairly);
    CHECK(fairly < 0.9);
    CHECK(hardly > 0.9);
  }
}

TEST_CASE("where the simulator foretells a ratio exactly, the estimate is moved to its mean",
          "[control]") {
  BySeed real, sim, ones;
  for (int seed = 0; seed < 30; ++seed) {
    sim[seed] = seed < 3 ? 2 : 3;
    ones[seed] = 1;
    if (seed < 3) real[seed] = 4;
  }
  const Controlled controlled = controlled_ratio(real, ones, sim, ones).value();
  CHECK(controlled.ratio.value == Approx(6));
  CHECK(controlled.ratio.repeats == 3);
  CHECK(controlled.controls == 27);
  CHECK(controlled.slope == 1);
}

TEST_CASE("a control variate needs three measured seeds and twenty simulated ones", "[control]") {
  const auto has_one = [](int measured, int simulated) {
    BySeed real, sim, ones;
    for (int seed = 0; seed < measured + simulated; ++seed) {
      sim[seed] = ones[seed] = 1 + 0.01 * seed;
      if (seed < measured) real[seed] = 2;
    }
    return controlled_ratio(real, ones, sim, ones).has_value();
  };
  CHECK(has_one(3, 20));
  CHECK_FALSE(has_one(2, 20));
  CHECK_FALSE(has_one(3, 19));
  CHECK_FALSE(controlled_ratio({{1, 0}, {2, 1}, {3, 1}}, {{1, 1}, {2, 1}, {3, 1}}, {}, {}));
}

TEST_CASE("a comparison of measured cells shows both intervals where sim has the same cells",
          "[control]") {
  ArchivedCells measured, simulated;
  for (int repeat = 0; repeat < 30; ++repeat) {
    for (const char* policy : {"fcfs", "continuum", "lmcache"}) {
      const double factor = policy == std::string("fcfs") ? 3 + repeat % 5 : 1;
      if (policy != std::string("lmcache"))
        simulated.add({{"policy", text(policy)}}, factor, 42 + repeat);
      if (repeat < 3)
        measured.add({{"policy", text(policy)}, {"backend", text("cuda")}}, 2 * factor,
                     42 + repeat);
    }
  }
  const analysis::CompareQuestion question{{"policy"}, "jct_wall_mean_s", std::nullopt};
  const auto report = compare_within(measured.cells(), question, simulated.cells());
  REQUIRE(report.rows.size() == 2);
  REQUIRE(report.rows[0].controlled);
  CHECK(report.rows[0].controlled->controls == 27);
  CHECK_FALSE(report.rows[1].controlled);  // lmcache was not simulated
  const analysis::Grid grid = to_grid(report, analysis::GridFormat::text);
  CHECK(grid.columns.back().name == "controls");
  CHECK((grid.rows[0].back() == "27" && grid.rows[1].back() == "0"));
  CHECK_THROWS_WITH(compare_within(simulated.cells(), question, measured.cells()),
                    Contains("control variates are cells of sim, found cuda"));
}
