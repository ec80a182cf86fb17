#include "analysis/cell/fits.hpp"

#include <cmath>
#include <vector>

#include "sweeps/tables/schema.hpp"
#include "tests/support/catch.hpp"

namespace {

sweep::TurnRow turn(int prompt, int on_gpu, int on_host, double tpot_s) {
  sweep::TurnRow row;
  row.prompt_tok = prompt;
  row.cached_gpu_tok = on_gpu;
  row.cached_host_tok = on_host;
  row.ttft_s = 0.01 + 2e-5 * (prompt - on_gpu - on_host) + 1e-6 * (on_gpu + on_host);
  row.tpot_s = tpot_s;
  return row;
}

}  // namespace

TEST_CASE("turn times give back the cost of computed and of cached prompt tokens") {
  const std::vector<sweep::TurnRow> rows = {turn(100, 0, 0, 0.02), turn(500, 400, 0, 0.04),
                                            turn(900, 100, 300, std::nan("")),
                                            turn(50, 16, 16, 0.03)};
  analysis::TurnFit fit;
  fit.add(sweep::to_table<sweep::TurnRow>(rows));
  const auto plane = fit.ttft();
  REQUIRE(plane);
  CHECK(plane->intercept == Approx(0.01));
  CHECK(plane->slopes[analysis::TurnFit::computed] == Approx(2e-5));
  CHECK(plane->slopes[analysis::TurnFit::cached] == Approx(1e-6));
  CHECK(fit.tpot_s() == Approx(0.03));
}

TEST_CASE("where no token was found cached there is a slope of computed tokens alone") {
  const std::vector<sweep::TurnRow> rows = {turn(100, 0, 0, 1), turn(500, 0, 0, 1)};
  analysis::TurnFit fit;
  fit.add(sweep::to_table<sweep::TurnRow>(rows));
  REQUIRE(fit.ttft());
  CHECK(fit.ttft()->slopes.size() == 1);
  CHECK(fit.ttft()->slopes[analysis::TurnFit::computed] == Approx(2e-5));
}

TEST_CASE(
    "a fit that leaves more than half of the variance of TTFT says that its slopes are none") {
  const auto caveat = [](double waited_s) {
    std::vector<sweep::TurnRow> rows = {turn(100, 0, 0, 1), turn(300, 0, 0, 1), turn(500, 0, 0, 1),
                                        turn(700, 0, 0, 1)};
    rows[0].ttft_s += waited_s;
    rows[2].ttft_s -= waited_s;
    analysis::TurnFit fit;
    fit.add(sweep::to_table<sweep::TurnRow>(rows));
    return fit.caveat();
  };
  CHECK(caveat(0).empty());
  CHECK(caveat(0.001).empty());
  CHECK_THAT(caveat(0.05), Catch::Matchers::Contains("R2 below 0.5"));
}

TEST_CASE("without turns nothing is fitted") {
  const analysis::TurnFit fit;
  CHECK_FALSE(fit.ttft());
  CHECK(fit.caveat().empty());
  CHECK(std::isnan(fit.tpot_s()));
}
