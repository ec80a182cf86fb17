#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/program.hpp"
#include "tests/support/catch.hpp"

using Catch::Matchers::Contains;
using support::Program;

namespace {

std::vector<std::string> offers(const std::string& text) {
  std::vector<std::string> lines;
  for (const std::string& line : support::lines_of(text))
    if (line.starts_with("what would tell: ")) lines.push_back(line);
  return lines;
}

/// The cells of a plan.
nlohmann::json planned(const Program& program, std::vector<std::string> words) {
  words.insert(words.begin(), {"plan", "--json"});
  return nlohmann::json::parse(program.run(words).out)["cells"];
}

}  // namespace

TEST_CASE("a plan names the runs that would tell why a policy is fast, as run does") {
  const Program run;
  std::string pressed = support::kTinySweep + "[engine]\nkv_tokens = 49152\n";
  pressed.replace(pressed.find("jobs = 3"), 8, "jobs = 8");
  run.write("s.toml", pressed);
  const auto ran = offers(run.run({"run", "s.toml", "--archive", "a.h5"}).out);
  REQUIRE(ran.size() == 2);
  CHECK_THAT(ran[0], Contains("kvsweep run s.toml --set policy=job_fcfs"));
  CHECK(offers(run.run({"plan", "s.toml", "--archive", "a.h5"}).out) == ran);
}

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
