#include "tests/cli/capacities.hpp"

using Catch::Matchers::Contains;
using support::csv_rows, support::kAgents, support::Outcome, support::Program, support::search;

TEST_CASE("an archive of another sweep stays as it is, without files of the search beside it") {
  const Program program;
  program.write("agents.toml", kAgents);
  REQUIRE(program.run({"run", "tiny.toml", "--archive", "a.h5", "--no-prev"}).exit_code == 0);
  const std::vector<std::string> before = program.names_in("");
  const Outcome refused = search(program);
  CHECK(refused.exit_code == 5);
  CHECK_THAT(refused.err, Contains("not \"agents\"") && !Contains("the same command"));
  CHECK(program.names_in("") == before);
}

TEST_CASE("a search into the archive of another one that runs is refused, which finds its answer") {
  const Program program;
  program.write("agents.toml", kAgents);
  const Outcome alone = search(program, {}, "alone.h5");
  program.write("launch.sh", R"(
if ! [ -e second ]; then
  "$1" capacity agents.toml --slo ttft_p90=1.5 --archive a.h5 >second 2>&1
  echo " exit code $?" >>second
fi
exec "$@"
)");
  const Outcome found = search(program, {"--launch", "sh launch.sh"});
  CHECK_THAT(program.read("second"), Contains("a.h5 is in use by process ") &&
                                         Contains(" exit code 6") && !Contains("round"));
  CHECK(found.exit_code == 0);
  CHECK(program.read("a.capacity.toml") == program.read("alone.capacity.toml"));
  CHECK(program.run({"check", "--equal", "alone.h5", "a.h5"}).exit_code == 0);
  CHECK_FALSE(program.exists("a.h5.search.d"));
}

TEST_CASE("limits and prices that ask for no further cell reach the archive and its report") {
  const Program program;
  program.write("agents.toml", kAgents);
  REQUIRE(search(program, {"--price", "h100-80gb=2.5"}).exit_code == 0);
  const Outcome again =
      search(program, {"--price", "h100-80gb=7.25", "--slo", "ttft_p90=0.4001,first_token_p90=10"});
  CHECK(again.exit_code == 0);
  CHECK(again.err.empty());
  CHECK_THAT(program.read("a.capacity.toml"), Contains("= 7.25"));
  REQUIRE(program.run({"report", "a.h5", "-o", "report"}).exit_code == 0);
  CHECK_THAT(program.page("report"), Contains("ttft_p90 <= 0.4001 s"));
  CHECK_THAT(program.run({"status", "a.h5"}).out, Contains(" 0 left, 0 failed"));
}

TEST_CASE("a sweep file where the search would write its own is refused, and stays") {
  const Program program;
  program.write("a.capacity.toml", kAgents);
  const Outcome refused =
      program.run({"capacity", "a.capacity.toml", "--archive", "a.h5", "--slo", "ttft_p90=0.4"});
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, Contains("is the file that the search writes beside a.h5"));
  CHECK(program.read("a.capacity.toml") == kAgents);
  CHECK_FALSE(program.exists("a.h5"));
}

TEST_CASE("cells that cannot run are not counted as run") {
  const Program program;
  std::string text = kAgents;
  program.write("agents.toml", text.replace(text.find("40000"), 5, "400"));
  CHECK_THAT(search(program).out, Contains(": 0 cells were run, of 72 that"));
}

TEST_CASE("a row that misses at a least load above one agent is below it, without a ratio") {
  const Program program;
  std::string text = kAgents;
  program.write("agents.toml", text.replace(text.find("[1, 12]"), 7, "[8, 12]"));
  bool is_below = false;
  for (const auto& row : csv_rows(search(program, {"--format", "csv"}).out)) {
    if (row.at("policy") != "fcfs" && !row.at("capacity_agents").empty()) {
      CHECK(row.at("ratio_to_fcfs").empty());
      continue;
    }
    is_below = true;
    CHECK(row.at("capacity_agents").empty());
    CHECK_THAT(row.at("verdict"), Contains("below 8 agents on some seeds; lower the least load"));
  }
  CHECK(is_below);
}
