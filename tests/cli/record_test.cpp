#include "tests/cli/program.hpp"
#include "tests/support/catch.hpp"

using namespace support;
using Catch::Matchers::Contains;

namespace {

/// kTinySweep with more in its section [sweep].
std::string tiny_with(const std::string& lines) {
  std::string text = kTinySweep;
  return text.replace(text.find("[axes]"), 0, lines + "\n");
}

/// The outcome of a run of a sweep file into a.h5.
Outcome run_tiny(const Program& program, const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {"run", "tiny.toml", "--archive", "a.h5"};
  words.insert(words.end(), more.begin(), more.end());
  return program.run(words);
}

void run_whole(const Program& program, const std::string& archive) {
  REQUIRE(program.run({"run", "tiny.toml", "--archive", archive}).exit_code == 0);
}

}  // namespace

TEST_CASE("a run at a lower level stores less of the same results, and check --equal says so") {
  const Program program;
  program.write("tiny.toml", kTinySweep);
  run_whole(program, "whole.h5");
  REQUIRE(run_tiny(program, {"--record", "jobs"}).exit_code == 0);
  CHECK(std::filesystem::file_size(program.file("a.h5")) <
        std::filesystem::file_size(program.file("whole.h5")));
  const Outcome equal = program.run({"check", "--equal", "a.h5", "whole.h5"});
  CHECK(equal.exit_code == 0);
  CHECK(equal.out ==
        "equal\n2 cells are stored at different levels: only tables that both archives have of a "
        "cell were compared\n");
  REQUIRE(program.run({"export", "whole.h5", "--to-archive", "jobs", "-o", "b.h5"}).exit_code == 0);
  CHECK(program.run({"check", "--equal", "a.h5", "b.h5"}).out == "equal\n");
  const std::vector<std::string> table = {"export", "--table", "turns", "a.h5"};
  CHECK(program.run(table).out == program.run({"export", "--table", "turns", "whole.h5"}).out);
}

TEST_CASE("a higher level runs the cells again that lack its tables, and no others") {
  const Program program;
  program.write("tiny.toml", kTinySweep);
  run_whole(program, "whole.h5");
  REQUIRE(run_tiny(program, {"--record", "summary", "--only", "policy=fcfs"}).exit_code == 0);
  const std::vector<std::string> whole = {"--record", "all"};
  const Outcome plan = program.run({"plan", "tiny.toml", "--archive", "a.h5", "--record", "all"});
  CHECK_THAT(plan.out, Contains("policy=fcfs jps=3: stored at the level summary"));
  CHECK_THAT(program.run({"plan", "tiny.toml", "--archive", "a.h5", "--record", "summary"}).out,
             Contains("policy=fcfs jps=3: done"));
  const Outcome again = run_tiny(program, whole);
  CHECK(again.exit_code == 0);
  CHECK_THAT(again.err, Contains("1 cell is stored below the level all and runs again; --record "
                                 "summary leaves them as they are"));
  CHECK(program.run({"check", "--equal", "a.h5", "whole.h5"}).out == "equal\n");
  CHECK(program.run({"check", "a.h5"}).exit_code == 0);
  const std::string bytes = program.read("a.h5");
  CHECK(run_tiny(program, {"--record", "jobs"}).exit_code == 0);
  CHECK(program.read("a.h5") == bytes);
}

TEST_CASE("a run that asks for no level keeps results at any") {
  const Program program;
  program.write("tiny.toml", kTinySweep);
  REQUIRE(run_tiny(program, {"--record", "jobs"}).exit_code == 0);
  const std::string bytes = program.read("a.h5");
  CHECK_THAT(program.run({"plan", "tiny.toml", "--archive", "a.h5"}).out, !Contains("new"));
  CHECK(run_tiny(program).exit_code == 0);
  CHECK(program.read("a.h5") == bytes);
}

TEST_CASE("a cell that fails when it runs again for a higher level keeps the result that it has") {
  const Program program;
  program.write("tiny.toml", kTinySweep + support::kFailing);
  REQUIRE(run_tiny(program, {"--record", "jobs"}).exit_code == 0);
  program.write("fail", "");
  const Outcome again = run_tiny(program, {"--record", "all"});
  CHECK(again.exit_code == 3);
  CHECK_THAT(again.err, Contains("failed") && Contains("its result at the level jobs stays"));
  CHECK_THAT(program.run({"check", "a.h5"}).out, Contains("2 cells, 2 with a result"));
  CHECK(program.names_in("a.h5.d").empty());  // no mark of the attempt
}

TEST_CASE("the sweep file says how much is stored, and the command line overrides it") {
  const Program program;
  program.write("tiny.toml", tiny_with("record = \"summary\""));
  REQUIRE(run_tiny(program).exit_code == 0);
  CHECK_THAT(program.run({"export", "a.h5", "--table", "jobs"}).err,
             Contains("is stored at the level summary, without its jobs; `kvsweep run --record "
                      "jobs` runs it again with them"));
  REQUIRE(run_tiny(program, {"--record", "jobs"}).exit_code == 0);
  CHECK(program.run({"export", "a.h5", "--table", "jobs"}).exit_code == 0);
  CHECK(run_tiny(program, {"--set", "sweep.record=all"}).exit_code == 0);
  CHECK(program.run({"trace", "a.h5", "0"}).exit_code == 0);
}

TEST_CASE("a level that does not exist is refused with those that do") {
  const Program program;
  program.write("tiny.toml", tiny_with("record = \"turns\""));
  const Outcome in_file = run_tiny(program);
  CHECK(in_file.exit_code == 2);
  CHECK_THAT(in_file.err, Contains("tiny.toml:5:1: sweep.record must be summary, jobs or all, "
                                   "found \"turns\""));
  CHECK_THAT(run_tiny(program, {"--record", "some"}).err,
             Contains("--record must be summary, jobs or all, found \"some\""));
  program.write("tiny.toml", tiny_with("record = 1"));
  CHECK_THAT(run_tiny(program).err, Contains("tiny.toml:5:1: sweep.record must be"));
}

TEST_CASE("a command that needs a table says which cell lacks it, and at which level it is") {
  const Program program;
  program.write("tiny.toml", kTinySweep);
  REQUIRE(run_tiny(program, {"--record", "jobs"}).exit_code == 0);
  for (const std::vector<std::string>& words : {std::vector<std::string>{"trace", "a.h5", "0"},
                                                {"fit", "a.h5"},
                                                {"diff", "a.h5", "0", "1"},
                                                {"export", "a.h5", "--table", "steps"}}) {
    const Outcome outcome = program.run(words);
    CHECK(outcome.exit_code == 2);
    CHECK_THAT(outcome.err, Contains("cell 0 (gpu=h100-80gb policy=fcfs jps=3) is stored at the "
                                     "level jobs, without its "));
  }
}

TEST_CASE("tables, comparisons, claims and reports take cells of any level") {
  const Program program;
  std::string sweep = kTinySweep;
  sweep.replace(sweep.find("jobs = 3"), 8, "jobs = 100");
  program.write("tiny.toml", sweep + "[sim]\ncost_model = \"published\"\n");
  run_whole(program, "whole.h5");
  REQUIRE(run_tiny(program, {"--record", "summary"}).exit_code == 0);
  CHECK(program.run({"table", "a.h5"}).out == program.run({"table", "whole.h5"}).out);
  const Outcome compared = program.run({"compare", "a.h5", "--by", "policy"});
  CHECK(compared.exit_code == 0);
  CHECK(compared.out == program.run({"compare", "whole.h5", "--by", "policy"}).out);
  const Outcome claims = program.run({"claims", "a.h5", "--format", "csv"});
  CHECK(claims.exit_code == 0);
  CHECK_THAT(claims.out, Contains("undecided") &&
                             Contains("is stored at the level summary, without its turns"));
  REQUIRE(program.run({"report", "a.h5", "-o", "page"}).exit_code == 0);
  CHECK_THAT(program.page("page"),
             Contains("some cells are stored at the level summary, without their steps"));
}
