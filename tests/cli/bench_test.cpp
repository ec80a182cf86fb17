#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"
#include "tests/support/catch.hpp"

using Catch::Matchers::Contains;
using support::lines_of;
using support::Outcome;
using support::Program;

TEST_CASE("bench sim prints what it leaves out, and a row for each cell") {
  const Outcome outcome = Program().run({"bench", "sim", "tiny.toml", "--repeats", "1"});
  REQUIRE(outcome.exit_code == 0);
  const auto lines = lines_of(outcome.out);
  REQUIRE(lines.size() == 1 + 2 + 2);
  CHECK_THAT(lines[0], Contains("workload generation and prompt hashing excluded"));
}

TEST_CASE("bench sim --json prints an object for each cell, with rates above zero") {
  const Outcome outcome = Program().run({"bench", "sim", "tiny.toml", "--repeats", "1", "--json"});
  const auto lines = lines_of(outcome.out);
  REQUIRE(lines.size() == 2);
  for (const std::string& line : lines) {
    const nlohmann::json row = nlohmann::json::parse(line);
    CHECK(row.at("jobs") == 3);
    CHECK(row.at("steps").get<int>() > 0);
    CHECK(row.at("engine_steps_per_s").get<double>() > 0);
    CHECK(row.at("ns_per_block").get<double>() > 0);
  }
}

TEST_CASE("bench refuses a measurement that it cannot repeat") {
  const Outcome outcome = Program().run({"bench", "sim", "tiny.toml", "--repeats", "0"});
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.err, Contains("--repeats"));
  CHECK(lines_of(outcome.err).size() == 1);
}
