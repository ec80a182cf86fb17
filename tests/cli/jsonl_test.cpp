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

TEST_CASE("a trace has steps, events and requests as complete JSON lines, and each part alone") {
  const Program program;
  REQUIRE(program.run({"run", "tiny.toml"}).exit_code == 0);
  for (const std::string cell : {"0", "1"}) {
    std::string parts;
    for (const std::string part : {"steps", "events", "requests"}) {
      const std::string file = cell + '.' + part + ".jsonl";
      REQUIRE(program.run({"trace", "tiny.h5", cell, "--" + part, "-o", file}).exit_code == 0);
      const std::string text = program.read(file);
      INFO(cell << ' ' << part);
      // With FCFS and free blocks to spare, nothing is pinned or evicted.
      const bool eventful = cell == "1" || part != "events";
      CHECK(text.empty() != eventful);
      CHECK(broken_lines(text) == 0);
      parts += text;
    }
    CHECK(program.run({"trace", "tiny.h5", cell}).out == parts);
  }
}

TEST_CASE("the same sweep writes the same traces") {
  const Program one, other;
  for (const Program* each : {&one, &other})
    REQUIRE(each->run({"run", "tiny.toml"}).exit_code == 0);
  for (const std::string cell : {"0", "1"})
    CHECK(one.run({"trace", "tiny.h5", cell}).out == other.run({"trace", "tiny.h5", cell}).out);
}

TEST_CASE("traces that cannot be written are an error that names the file") {
  Program program;
  REQUIRE(program.run({"run", "tiny.toml"}).exit_code == 0);
  const Outcome outcome = program.run({"trace", "tiny.h5", "0", "-o", "missing/t.jsonl"});
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.err, Contains("missing/t.jsonl"));
}
