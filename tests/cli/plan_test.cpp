#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/program.hpp"
#include "tests/support/catch.hpp"

using Catch::Matchers::Contains;
using support::Program;

namespace {

/// The cells of a plan.
nlohmann::json planned(const Program& program, std::vector<std::string> words) {
  words.insert(words.begin(), {"plan", "--json"});
  return nlohmann::json::parse(program.run(words).out)["cells"];
}

}  // namespace

TEST_CASE(
    "cells that a run was not asked for are not missing in a table, but those that it left are") {
  const Program run;
  REQUIRE(run.run({"run", "tiny.toml", "--archive", "a.h5", "--only", "policy=fcfs"}).exit_code ==
          0);
  CHECK_THAT(run.run({"table", "a.h5"}).out,
             Contains("1 of 1 cells have a result; 1 not asked for\n"));
  CHECK(run.run({"run", "tiny.toml", "--archive", "b.h5", "--time-limit", "0.001"}).exit_code ==
        75);
  REQUIRE(run.run({"run", "tiny.toml", "--archive", "b.h5", "--only", "policy=fcfs"}).exit_code ==
          0);
  CHECK_THAT(run.run({"table", "b.h5"}).out, Contains("1 of 2 cells have a result; missing"));
}

TEST_CASE("a plan expects what its cells take, within 25 % of each makespan") {
  const Program program;
  const std::string matrix =
      (std::filesystem::current_path() / "sweeps/experiments/matrix-72.toml").string();
  const auto cells = planned(program, {matrix});
  REQUIRE(program.run({"run", matrix, "--archive", "a.h5", "--record", "summary"}).exit_code == 0);
  const auto done = planned(program, {matrix, "--archive", "a.h5"});
  REQUIRE(cells.size() == 72);
  REQUIRE(done.size() == 72);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    INFO(cells[i]["label"]);
    CHECK(cells[i]["simulated"] == true);
    CHECK(done[i]["simulated"] == false);
    const double took_s = done[i]["served_s"];
    CHECK(std::abs(double(cells[i]["served_s"]) / took_s - 1) < 0.25);
  }
}

TEST_CASE("cells for a GPU are simulated for a plan, and occupy it as long as they are served") {
  const Program program;
  const auto sim = planned(program, {"tiny.toml"});
  const auto cuda = planned(program, {"tiny.toml", "--backend", "cuda"});
  for (std::size_t i : {0, 1}) {
    CHECK(cuda[i]["served_s"] == sim[i]["served_s"]);
    CHECK(cuda[i]["worker_s"] == cuda[i]["served_s"]);
    CHECK(sim[i]["worker_s"] < sim[i]["served_s"]);
  }
}
