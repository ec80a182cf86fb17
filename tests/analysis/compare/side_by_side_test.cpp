#include "analysis/compare/side_by_side.hpp"

#include "tests/analysis/archived_cells.hpp"
#include "tests/support/catch.hpp"

using analysis::CompareError;
using analysis::Grid;
using analysis::GridFormat;
using Catch::Matchers::Contains;

namespace {

/// A cell of one backend at a rate, with a mean completion time for each of its repeats.
void add(ArchivedCells& archive, const char* backend, const char* policy, std::int64_t jps,
         std::initializer_list<double> means, std::int64_t jobs = 4) {
  for (const double mean : means)
    archive.add({{"backend", text(backend)},
                 {"policy", text(policy)},
                 {"jps", whole(jps)},
                 {"workload.jobs", whole(jobs)},
                 {backend == std::string("sim") ? "sim.constants" : "server.command", text("own")}},
                mean);
}

Grid beside(const ArchivedCells& archive) {
  return side_by_side(archive.cells(), {"jps"}, "jct_wall_mean_s", GridFormat::csv);
}

std::vector<std::string> column(const Grid& grid, const std::string& name) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < grid.columns.size(); ++i)
    if (grid.columns[i].name == name)
      for (const auto& row : grid.rows) texts.push_back(row[i]);
  return texts;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("cells of two backends stand beside each other by rate, named and not divided") {
  ArchivedCells archive;
  add(archive, "server", "stock", 1, {10});
  add(archive, "server", "stock", 3, {20});
  add(archive, "sim", "fcfs", 1, {11});
  add(archive, "sim", "fcfs", 3, {19});
  const Grid grid = beside(archive);
  CHECK(column(grid, "jps") == Texts{"1", "1", "3", "3"});
  CHECK(column(grid, "policy") == Texts{"stock", "fcfs", "stock", "fcfs"});
  CHECK(column(grid, "jct_wall_mean_s") == Texts{"10", "11", "20", "19"});
  CHECK_THAT(column(grid, "figures of")[0], Contains("MEASURED (server"));
  CHECK_THAT(column(grid, "figures of")[1], Contains("MODELLED (sim"));
}

TEST_CASE("cells that served different loads are not set beside each other") {
  ArchivedCells archive;
  add(archive, "server", "stock", 1, {10});
  add(archive, "sim", "fcfs", 1, {11}, 5);
  CHECK_THROWS_WITH(beside(archive), Contains("differ in workload.jobs: 4 and 5"));
}
