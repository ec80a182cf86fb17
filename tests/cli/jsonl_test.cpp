#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"
#include "tests/support/catch.hpp"

using Catch::Matchers::Contains;
using support::lines_of;
using support::Outcome;
using support::Program;

namespace {

/// Number of lines that are not JSON.
int broken_lines(const std::string& text) {
  int broken = 0;
  for (const std::string& line : lines_of(text)) broken += nlohmann::json::accept(line) ? 0 : 1;
  return broken;
}

}  // namespace

TEST_CASE(
    "the flag --jsonl writes the steps, events and requests of each cell as complete JSON lines") {
  const Program program;
  REQUIRE(program.run({"run", "tiny.toml", "--jsonl", "deep/traces"}).exit_code == 0);
  for (const std::string cell : {"cell-000", "cell-001"}) {
    for (const std::string table : {"steps", "events", "requests"}) {
      const std::string text = program.read("deep/traces/" + cell + "." + table + ".jsonl");
      INFO(cell << ' ' << table);
      // With FCFS and free blocks to spare, nothing is pinned or evicted.
      const bool eventful = cell == "cell-001" || table != "events";
      CHECK(text.empty() != eventful);
      CHECK(broken_lines(text) == 0);
    }
  }
  for (const std::string& name : program.names_in("deep/traces"))
    CHECK_THAT(name, !Contains("partial"));
}

TEST_CASE("the same sweep writes the same traces") {
  const Program one, other;
  REQUIRE(one.run({"run", "tiny.toml", "--jsonl", "t"}).exit_code == 0);
  REQUIRE(other.run({"run", "tiny.toml", "--jsonl", "t"}).exit_code == 0);
  REQUIRE_FALSE(one.names_in("t").empty());
  CHECK(one.names_in("t") == other.names_in("t"));
  for (const std::string& name : one.names_in("t")) {
    INFO(name);
    if (name.starts_with("cell-")) CHECK(one.read("t/" + name) == other.read("t/" + name));
  }
}

TEST_CASE("traces that cannot be written are an error that names the folder") {
  Program program;
  program.write("traces", "a file, not a folder");
  const Outcome outcome = program.run({"run", "tiny.toml", "--jsonl", "traces"});
  CHECK(outcome.exit_code != 0);
  CHECK_THAT(outcome.err, Contains("traces"));
  CHECK(program.read("traces") == "a file, not a folder");
}
