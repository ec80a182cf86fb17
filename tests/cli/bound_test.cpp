#include "tests/cli/program.hpp"
#include "tests/support/catch.hpp"

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using support::Outcome;
using support::Program;

TEST_CASE("bound prints what no policy can beat") {
  const Outcome outcome = Program().run({"bound", "tiny.toml"});
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.err.empty());
  CHECK_THAT(outcome.out, Contains("gpu=h100-80gb jps=3: mean JCT >= ") && Contains("; alone ") &&
                              Contains("; hits <= ") && Contains(" % of prompt tokens\n"));
  CHECK(support::lines_of(outcome.out).size() == 1);
}

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

TEST_CASE("table --bound has the bounds of the cells of an archive, without its sweep file") {
  const Program program;
  REQUIRE(program.run({"run", "tiny.toml", "--archive", "a.h5"}).exit_code == 0);
  const std::string bound = program.run({"bound", "tiny.toml"}).out;
  const std::string least = bound.substr(bound.find(">= ") + 3, 5);
  const Outcome table = program.run({"table", "a.h5", "--bound"});
  CHECK(table.err.empty());
  CHECK_THAT(table.out, Contains(" bound  ") && Contains(least) && Contains("  / bound  ") &&
                            Contains("at 3 jobs/s the optimum is in [" + least + ", "));
  CHECK_THAT(table.out, !Contains("no bound"));
  CHECK_THAT(program.run({"table", "a.h5"}).out, !Contains("bound"));
  CHECK_THAT(program.run({"table", "a.h5", "--bound", "--set", "workload.jobs=5"}).out,
             Contains("no bound for 2 cells: profiles or files are not what they were"));
}

TEST_CASE("bound of an archive alone is the table with bounds, and the misses of each cell") {
  const Program program;
  REQUIRE(program.run({"run", "tiny.toml", "--archive", "a.h5"}).exit_code == 0);
  const Outcome alone = program.run({"bound", "a.h5"});
  CHECK(alone.exit_code == 0);
  CHECK_THAT(alone.out, StartsWith(program.run({"table", "a.h5", "--bound"}).out));
  CHECK_THAT(alone.out, Contains("at 3 jobs/s the optimum is in [") && Contains("in this order") &&
                            Contains("compulsory"));
  const auto lines = support::lines_of(alone.out);
  CHECK_THAT(lines.back(), StartsWith("gpu=h100-80gb policy=continuum jps=3 "));
  CHECK(program.run({"bound", "a.h5", "--only", "policy=fcfs"}).out != alone.out);
  REQUIRE(program.run({"export", "a.h5", "--to-archive", "jobs", "-o", "s.h5"}).exit_code == 0);
  CHECK(support::lines_of(program.run({"bound", "s.h5"}).out).back() == lines.back());
  const Outcome refused = program.run({"bound", "a.h5", "--backend", "sim"});
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, Contains("bound A.h5 takes neither --backend"));
}

TEST_CASE("results that a card measured have the bound of its model") {
  const Program program;
  const Outcome table = program.run(
      {"table", std::string(KVSWEEP_SOURCE_DIR) + "/sweeps/measured/order-or-pins-h100.h5",
       "--bound"});
  CHECK_THAT(table.out, Contains("MODELLED bound") && !Contains("no bound"));
  const Outcome recorded = program.run(
      {"table", std::string(KVSWEEP_SOURCE_DIR) + "/sweeps/measured/agentx-h100.h5", "--bound"});
  CHECK_THAT(recorded.out, Contains("no bound for 5 cells: name the file that they read by --set "
                                    "workload.path=FILE"));
}

TEST_CASE("bound is for costs that are known: on a real backend it is refused") {
  const Outcome outcome =
      Program().run({"bound", "tiny.toml", "--backend", "cpu", "--set", "engine.kv_tokens=40000"});
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.err, Contains("give --backend sim"));
}

TEST_CASE("where only a job's own time bounds it, bound says why") {
  const Program program;
  std::string live = support::kTinySweep + "arrivals = \"live\"\nlive = 2\n";
  live.erase(live.find("jps = [3]\n"), 10);
  program.write("live.toml", live);
  CHECK_THAT(program.run({"bound", "live.toml"}).out,
             Contains("(alone), the only bound: jobs wait for others before they arrive"));
}

TEST_CASE("repeats have one bound, the mean of theirs") {
  CHECK_THAT(Program().run({"bound", "tiny.toml", "--set", "repeat.n=3"}).out,
             Contains("gpu=h100-80gb jps=3: mean JCT >= ") && Contains(") over 3 seeds; alone "));
}
