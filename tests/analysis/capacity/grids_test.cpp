#include "analysis/capacity/rows.hpp"

#include <algorithm>

#include "tests/support/catch.hpp"

using namespace analysis;

namespace {

/// Loads 1, 2 and 3, of which the first meets the limit; each cell took 10 s for 100 tokens/s.
struct World {
  sweep::CellRecord record;
  CapacityRules rules;
  std::vector<CapacityPlace> places{{"gpu=g", {{"gpu", std::string("g")}}, "g", "fcfs", {}}};

  explicit World(double energy_j) {
    rules.load = "workload.live";
    rules.search.loads = {1, 2, 3};
    rules.watts["g"] = 700;
    rules.slos = {{"", parse_limits("ttft_p90=2")}};
    for (const Question& each : questions())
      places.front().cells[each] = {&record,
                                    {{"ttft_p90", each.load == 0 ? 1 : 4},
                                     {kInteractivityP90, 50},
                                     {kThroughput, 100},
                                     {"makespan_s", 10},
                                     {"gpu_energy_j", energy_j},
                                     {"jobs", 9}}};
  }
  static std::vector<Question> questions() {
    std::vector<Question> all;
    for (std::size_t load = 0; load < 3; ++load)
      for (int seed = 0; seed < 3; ++seed) all.push_back({load, seed});
    return all;
  }
  Grid grid(GridFormat format) const {
    return capacity_grid(rules, capacities_of(rules, places), format);
  }
};

/// What the first row has in a column; "absent" without the column.
std::string first(const Grid& grid, const std::string& name) {
  const auto column = std::ranges::find(grid.columns, name, &Grid::Column::name);
  if (column == grid.columns.end()) return "absent";
  return grid.rows.at(0).at(static_cast<std::size_t>(column - grid.columns.begin()));
}

}  // namespace

TEST_CASE("measured energy has a column of its own beside that by watts") {
  const World measured(4000), modelled(sweep::kNotObserved);
  CHECK(first(measured.grid(GridFormat::text), "energy, measured") == "4");
  CHECK(first(measured.grid(GridFormat::text), "energy, by watts") == "7");
  CHECK(first(measured.grid(GridFormat::csv), "measured_j_per_tok") == "4");
  CHECK(first(measured.grid(GridFormat::csv), "watts_j_per_tok") == "7");
  CHECK(first(modelled.grid(GridFormat::text), "energy, measured") == "absent");
  CHECK(first(modelled.grid(GridFormat::csv), "watts_j_per_tok") == "7");
}

TEST_CASE("for programs what is not known is empty, and texts have columns of their own") {
  World world(sweep::kNotObserved);
  CHECK(first(world.grid(GridFormat::csv), "capacity_agents") == "1");
  CHECK(first(world.grid(GridFormat::csv), "next_agents") == "2");
  CHECK(first(world.grid(GridFormat::csv), "next_value") == "4");
  CHECK(first(world.grid(GridFormat::csv), "unit") == "s");
  CHECK(first(world.grid(GridFormat::csv), "ratio_to_fcfs").empty());
  world.places.front().cells.erase({1, 2});
  CHECK(first(world.grid(GridFormat::csv), "capacity_agents").empty());
  CHECK(first(world.grid(GridFormat::csv), "output_tok_per_s").empty());
  CHECK(first(world.grid(GridFormat::csv), "verdict") == "undecided");
  world.rules.load = "jps";
  CHECK(first(world.grid(GridFormat::csv), "capacity_jobs_per_s").empty());
}

TEST_CASE("what serves the largest load is at least so many times fcfs's, without an interval") {
  World world(sweep::kNotObserved);
  world.places.insert(world.places.begin(), world.places.front());
  CapacityPlace& better = world.places.front();
  better.policy = "job_fcfs";
  for (auto& [question, cell] : better.cells) cell.metrics.at("ttft_p90") = 1;
  CHECK(first(world.grid(GridFormat::text), "of fcfs") == "at least 3.000");
  CHECK(std::stod(first(world.grid(GridFormat::csv), "ratio_to_fcfs")) == Approx(3));
  CHECK(first(world.grid(GridFormat::csv), "ratio_to_fcfs_low95").empty());
}

TEST_CASE("a ratio to fcfs says over how many pairs it is where fcfs lacks seeds") {
  World world(sweep::kNotObserved);
  world.rules.search.most_seeds = 5;
  world.places.insert(world.places.begin(), world.places.front());
  CapacityPlace& wide = world.places.front();
  wide.policy = "job_fcfs";
  for (std::size_t load = 0; load < 3; ++load)
    for (int seed = 3; seed < 5; ++seed) wide.cells[{load, seed}] = wide.cells.at({load, 0});
  world.rules.search.loads = {1, 20, 21};
  for (const std::size_t load : {1, 2})
    wide.cells.at({load, 0}).metrics.at("ttft_p90") = load == 1 ? 1 : 4;
  for (auto& place : world.places)
    for (auto& [question, cell] : place.cells) cell.metrics.at("jobs") = 30;
  CHECK(first(world.grid(GridFormat::csv), "seeds") == "5");
  CHECK(first(world.grid(GridFormat::csv), "pairs_with_fcfs") == "3");
  CHECK_THAT(first(world.grid(GridFormat::text), "of fcfs"),
             Catch::Matchers::Contains("), 3 of 5 seeds"));
}

TEST_CASE("loads above the number of jobs have no answer") {
  World world(sweep::kNotObserved);
  for (auto& [question, cell] : world.places.front().cells) cell.metrics["jobs"] = 1;
  CHECK(first(world.grid(GridFormat::text), "capacity") ==
        "2 agents of 1 jobs are never live together: raise workload.jobs or lower --most");
}

TEST_CASE("where a seed serves no load there is no output within the limits") {
  World world(sweep::kNotObserved);
  world.places.front().cells.at({0, 2}).metrics.at("ttft_p90") = 3;
  CHECK(first(world.grid(GridFormat::csv), "capacity_agents") == "0.6666666666666666");
  CHECK(first(world.grid(GridFormat::csv), "output_tok_per_s").empty());
}

TEST_CASE("a confirmed load has the energy that was measured there") {
  const World world(sweep::kNotObserved);
  const Limit& limit = world.rules.slos.front().limits.front();
  std::vector<Confirmation> rows = {{&world.places.front(), 1, &limit, {1.5}, {2.5}, 4}};
  const auto grid = [&](GridFormat format) {
    return confirm_grid(world.rules, rows, "MODELLED (sim)", "MEASURED (cuda)", format);
  };
  CHECK(first(grid(GridFormat::text), "energy, measured") == "4");
  CHECK(first(grid(GridFormat::text), "there") == "misses");
  rows.front().confirmed.interval = {2.1, 2.9};
  CHECK(first(grid(GridFormat::text), "there") == "misses");
  rows.front().confirmed.interval = {1.9, 3.1};
  CHECK(first(grid(GridFormat::text), "there") == "undecided");
  CHECK(first(grid(GridFormat::csv), "confirmed_on") == "MEASURED (cuda)");
  CHECK(first(grid(GridFormat::csv), "load_agents") == "2");
  CHECK(first(grid(GridFormat::csv), "searched_low95").empty());
  rows.front().j_per_token = sweep::kNotObserved;
  CHECK(first(grid(GridFormat::text), "energy, measured") == "absent");
}
