#include "analysis/compare/compare.hpp"

#include <sstream>

#include "tests/analysis/archived_cells.hpp"
#include "tests/support/catch.hpp"

using Catch::Matchers::Contains;

namespace {

std::string predictions(const ArchivedCells& measured, const ArchivedCells& simulated) {
  std::ostringstream out;
  analysis::print_predictions(measured.cells(), simulated.cells(), "jct_wall_mean_s", out);
  return out.str();
}

Settings cell(const std::string& backend, const std::string& policy, std::int64_t dram_gib = 0) {
  Settings settings = {{"backend", text(backend)}, {"policy", text(policy)}};
  if (dram_gib > 0) settings["dram_gib"] = whole(dram_gib);
  return settings;
}

}  // namespace

TEST_CASE("each measured cell stands beside the simulated one with its axes") {
  ArchivedCells measured, simulated;
  measured.add(cell("cuda", "fcfs"), 40);
  measured.add(cell("cuda", "cpu_offload", 16), 50);
  measured.add(cell("cuda", "cpu_offload", 128), 20);
  simulated.add(cell("sim", "cpu_offload", 128), 25);
  simulated.add(cell("sim", "cpu_offload", 16), 50);
  simulated.add(cell("sim", "fcfs"), 36);
  const std::string text = predictions(measured, simulated);
  CHECK_THAT(text, Contains("MEASURED") && Contains("MODELLED"));
  CHECK_THAT(text, Contains("-10") && Contains("25") && Contains("over 3 cells"));
  CHECK_THAT(text, Contains("mean distance over 3 cells: jct_wall_mean_s 11.70 %"));
}

TEST_CASE("another pool, seed or policy is another question") {
  ArchivedCells measured, simulated;
  Settings tight = cell("cuda", "fcfs");
  tight["engine.emulate"] = text("a100-40gb");
  measured.add(tight, 40);
  measured.add(cell("cuda", "fcfs"), 40, 43);
  measured.add(cell("cuda", "continuum"), 40);
  simulated.add(cell("sim", "fcfs"), 36);
  CHECK_THAT(predictions(measured, simulated), Contains("over 0 cells"));
}

TEST_CASE("a measured cell without a simulated one is not modelled") {
  ArchivedCells measured, simulated;
  measured.add(cell("server", "chunky"), 40);
  measured.add(cell("server", "fcfs"), 40);
  simulated.add(cell("sim", "fcfs"), 36);
  CHECK_THAT(predictions(measured, simulated),
             Contains("not modelled") && Contains("over 1 cells"));
}
