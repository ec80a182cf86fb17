#include "analysis/compare/prediction.hpp"

#include <cmath>

#include "tests/analysis/archived_cells.hpp"
#include "tests/support/catch.hpp"

using analysis::Agreement;
using analysis::Standing;

namespace {

/// Cells of a policy at a rate, one for each of three seeds, whose figures spread by `noise`.
void add(ArchivedCells& archive, const char* backend, const std::string& policy, double value,
         double noise = 0, std::int64_t jps = 1) {
  for (const std::int64_t seed : {42, 43, 44}) {
    const double spread = policy.size() % 2 == 0 ? noise : -noise;
    archive.add({{"backend", text(backend)}, {"policy", text(policy)}, {"jps", whole(jps)}},
                value + spread * static_cast<double>(seed - 43), seed);
  }
}

std::vector<Agreement> agreements(const ArchivedCells& measured, const ArchivedCells& simulated) {
  const auto real = measured.cells(), said = simulated.cells();
  return analysis::agreements(analysis::predicted_cells(real, said), "jct_wall_mean_s");
}

}  // namespace

TEST_CASE("the simulator's choice costs what it is measured longer than the best") {
  ArchivedCells measured, simulated;
  add(measured, "server", "a", 10, 0.1);
  add(measured, "server", "bb", 12, 0.1);
  add(simulated, "sim", "a", 9);
  add(simulated, "sim", "bb", 8);
  add(measured, "server", "a", 10, 0.1, 3);
  add(measured, "server", "bb", 12, 0.1, 3);
  add(simulated, "sim", "a", 7, 0, 3);
  add(simulated, "sim", "bb", 8, 0, 3);
  const auto all = agreements(measured, simulated);
  REQUIRE(all.size() == 2);
  CHECK(all[0].best == "a");
  CHECK(all[0].chosen == "bb");
  CHECK(all[0].chosen_is == Standing::behind);
  CHECK(all[0].is_noise_known);
  CHECK(all[0].regret == Approx(0.2).epsilon(0.01));
  CHECK(std::isnan(all[0].tau_b));
  CHECK(all[1].chosen == "a");
  CHECK(all[1].chosen_is == Standing::best);
  CHECK(all[1].regret == 0);
}

TEST_CASE("a choice within the measured noise is not told apart from the best") {
  ArchivedCells measured, simulated;
  add(measured, "server", "a", 10, 5);
  add(measured, "server", "bb", 12, 5);
  add(simulated, "sim", "a", 9);
  add(simulated, "sim", "bb", 8);
  CHECK(agreements(measured, simulated).at(0).chosen_is == Standing::undecided);
}

TEST_CASE("orders of four policies are compared by tau-b, and what is not modelled takes no part") {
  ArchivedCells measured, simulated;
  const char* const names[] = {"a", "bb", "c", "dd"};
  const double real[] = {1, 2, 3, 4}, said[] = {1, 2, 4, 3};
  for (std::size_t i = 0; i < 4; ++i) {
    add(measured, "server", names[i], real[i]);
    add(simulated, "sim", names[i], said[i]);
  }
  add(measured, "server", "own", 0.5);
  const Agreement found = agreements(measured, simulated).at(0);
  CHECK(found.policies == 4);
  CHECK(found.best == "a");
  CHECK(found.tau_b == Approx(4.0 / 6));  // five pairs agree, one does not
}

TEST_CASE("tau-b is 1 for equal orders, -1 for opposite ones, and corrects for ties") {
  const std::vector<double> up = {1, 2, 3, 4}, down = {4, 3, 2, 1}, tied = {1, 1, 2, 3};
  CHECK(analysis::tau_b(up, up) == Approx(1));
  CHECK(analysis::tau_b(up, down) == Approx(-1));
  CHECK(analysis::tau_b(up, tied) == Approx(5 / std::sqrt(6.0 * 5)));
  CHECK(std::isnan(analysis::tau_b(up, std::vector<double>{1, 1, 1, 1})));
}
