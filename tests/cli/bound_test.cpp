#include "tests/cli/program.hpp"
#include "tests/support/catch.hpp"

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using support::Outcome;
using support::Program;

TEST_CASE("cells that know the future are references, which no policy is compared with") {
  const Program program;
  std::string sweep = support::kTinySweep;
  sweep.replace(sweep.find("[\"fcfs\", \"continuum\"]"), 21,
                "[\"fcfs\"]\n\"policy.eviction\" = [\"lru\", \"oracle\"]");
  program.write("crowd.toml", sweep);
  REQUIRE(program
              .run({"run", "crowd.toml", "--archive", "a.h5", "--set", "engine.kv_tokens=20000",
                    "--set", "jps=50", "--set", "workload.jobs=12"})
              .exit_code == 0);
  const std::string table = program.run({"bound", "a.h5"}).out;
  CHECK_THAT(table, Contains("eviction=oracle) (reference)") && Contains(" by a reference"));
}

TEST_CASE("bound of an archive is the table with bounds, and a row for each cell") {
  const Program program;
  REQUIRE(program.run({"run", "tiny.toml", "--archive", "a.h5"}).exit_code == 0);
  const Outcome bound = program.run({"bound", "a.h5"});
  CHECK(bound.exit_code == 0);
  CHECK(bound.err.empty());
  CHECK_THAT(bound.out, Contains(" bound  ") && Contains("  / bound  ") && !Contains("no bound") &&
                            Contains("at 3 jobs/s the optimum is in [") &&
                            Contains("in this order") && Contains("compulsory"));
  CHECK_THAT(program.run({"table", "a.h5"}).out, !Contains("bound"));
  const auto lines = support::lines_of(bound.out);
  CHECK_THAT(lines.back(), StartsWith("gpu=h100-80gb policy=continuum jps=3 "));
  CHECK(program.run({"bound", "a.h5", "--only", "policy=fcfs"}).out != bound.out);
  CHECK_THAT(program.run({"bound", "a.h5", "--set", "workload.jobs=5"}).out,
             Contains("no bound for 2 cells: profiles or files are not what they were"));
  REQUIRE(program.run({"export", "a.h5", "--to-archive", "jobs", "-o", "s.h5"}).exit_code == 0);
  CHECK(support::lines_of(program.run({"bound", "s.h5"}).out).back() == lines.back());
  REQUIRE(program.run({"export", "a.h5", "--to-archive", "summary", "-o", "t.h5"}).exit_code == 0);
  const std::string summary = support::lines_of(program.run({"bound", "t.h5"}).out).back();
  CHECK_THAT(summary, StartsWith(lines.back().substr(0, 40)) && Contains(" - "));
}

TEST_CASE("results that a card measured have the bound of its model") {
  const Program program;
  const std::string measured = std::string(KVSWEEP_SOURCE_DIR) + "/sweeps/measured/";
  const Outcome bound = program.run({"bound", measured + "order-or-pins-h100.h5"});
  CHECK_THAT(bound.out, Contains("MODELLED bound") && !Contains("no bound"));
  const Outcome recorded = program.run({"bound", measured + "agentx-h100.h5"});
  CHECK_THAT(recorded.out, Contains("no bound for 5 cells: name the file that they read by --set "
                                    "workload.path=FILE"));
}

TEST_CASE("bound is of an archive: a sweep file is refused as none") {
  CHECK(Program().run({"bound", "tiny.toml"}).exit_code == 5);
}

TEST_CASE("where only a job's own time bounds it, bound says why") {
  const Program program;
  std::string live = support::kTinySweep + "arrivals = \"live\"\nlive = 2\n";
  live.erase(live.find("jps = [3]\n"), 10);
  program.write("live.toml", live);
  REQUIRE(program.run({"run", "live.toml", "--archive", "l.h5"}).exit_code == 0);
  CHECK_THAT(program.run({"bound", "l.h5"}).out,
             Contains("only `alone` is known: jobs wait for others before they arrive"));
}
