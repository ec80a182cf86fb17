#include "tests/cli/program.hpp"
#include "tests/support/catch.hpp"

using Catch::Matchers::Contains;
using support::Outcome;
using support::Program;

TEST_CASE("bound prints what no policy can beat, and with an archive the regret of each") {
  const Program program;
  REQUIRE(program.run({"run", "tiny.toml", "--archive", "a.h5"}).exit_code == 0);
  const std::string alone = program.run({"bound", "tiny.toml"}).out;
  CHECK_THAT(alone, Contains("gpu=h100-80gb jps=3: mean JCT >= ") && Contains("; alone "));
  CHECK_THAT(alone, !Contains("optimum in"));
  const Outcome outcome = program.run({"bound", "tiny.toml", "--archive", "a.h5"});
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.err.empty());
  CHECK(support::lines_of(outcome.out).front() + "\n" == alone);
  CHECK_THAT(alone, Contains("; hits <= ") && Contains(" % of prompt tokens\n"));
  for (const std::string part : {"blocks, in this order", "compulsory", "optimum in [",
                                 "best seen: policy=", "certified regret", "to best known",
                                 "policy=fcfs", "policy=continuum", " 0.00"})
    CHECK_THAT(outcome.out, Contains(part));
  CHECK_THAT(outcome.out, !Contains("wider than a factor of two"));
}

TEST_CASE(
    "bound marks cells that know the future as references, which no policy is compared with") {
  const Program program;
  std::string sweep = support::kTinySweep;
  sweep.replace(sweep.find("[\"fcfs\", \"continuum\"]"), 21,
                "[\"fcfs\"]\n\"policy.eviction\" = [\"lru\", \"oracle\"]");
  program.write("crowd.toml", sweep);
  const std::vector<std::string> crowd = {"--set", "engine.kv_tokens=20000", "--set", "jps=50",
                                          "--set", "workload.jobs=12"};
  const auto out = [&](std::vector<std::string> words) {
    words.insert(words.end(), crowd.begin(), crowd.end());
    const Outcome outcome = program.run(words);
    REQUIRE(outcome.exit_code == 0);
    return outcome.out;
  };
  out({"run", "crowd.toml", "--archive", "a.h5"});
  const std::string bound = out({"bound", "crowd.toml", "--archive", "a.h5"});
  CHECK_THAT(bound, Contains("best seen: policy=fcfs policy.eviction=oracle (reference), best "
                             "policy: policy=fcfs policy.eviction=lru, "));
  const auto lines = support::lines_of(bound);
  const auto row = [&](const std::string& name) {
    for (const std::string& line : lines)
      if (line.starts_with("  policy=") && line.find(name + " ") != std::string::npos) return line;
    return std::string();
  };
  CHECK_THAT(row("policy.eviction=lru"), Contains(" 0.00 ") && !Contains("(reference)"));
  CHECK_THAT(row("policy.eviction=oracle"), Contains("(reference)") && Contains(" -"));
  const std::string table = program.run({"bound", "a.h5"}).out;
  CHECK_THAT(table, Contains("eviction=oracle) (reference)") && Contains(" by a reference"));
  program.run({"report", "a.h5", "--bound", "-o", "page"});
  CHECK_THAT(program.page("page"), Contains(" by a reference"));
}

TEST_CASE("bound counts the misses of cells without their steps, too") {
  const Program program;
  REQUIRE(program.run({"run", "tiny.toml", "--archive", "a.h5"}).exit_code == 0);
  REQUIRE(program.run({"export", "a.h5", "--to-archive", "jobs", "-o", "s.h5"}).exit_code == 0);
  const std::string turns = program.run({"bound", "tiny.toml", "--archive", "s.h5"}).out;
  CHECK(turns == program.run({"bound", "tiny.toml", "--archive", "a.h5"}).out);
}

TEST_CASE("bound says when it is far from the best policy, and when nothing has run") {
  const Program program;
  const std::vector<std::string> crowd = {"--set", "engine.kv_tokens=20000", "--set", "jps=50",
                                          "--set", "workload.jobs=12"};
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.end(), crowd.begin(), crowd.end());
    return program.run(words);
  };
  REQUIRE(with({"run", "tiny.toml", "--archive", "a.h5"}).exit_code == 0);
  CHECK_THAT(with({"bound", "tiny.toml", "--archive", "a.h5"}).out,
             Contains("; wider than a factor of two"));
  CHECK_THAT(program.run({"bound", "tiny.toml", "--archive", "a.h5"}).out,
             Contains("no result in the archive\n"
                      "in the archive 2 results are kept from another setting"));
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

TEST_CASE("bound of an archive alone is the table with bounds") {
  const Program program;
  REQUIRE(program.run({"run", "tiny.toml", "--archive", "a.h5"}).exit_code == 0);
  const Outcome alone = program.run({"bound", "a.h5"});
  CHECK(alone.exit_code == 0);
  CHECK_THAT(alone.out, Contains("at 3 jobs/s the optimum is in ["));
  CHECK(alone.out == program.run({"table", "a.h5", "--bound"}).out);
  CHECK(program.run({"bound", "a.h5", "--only", "policy=fcfs"}).out != alone.out);
  const Outcome refused = program.run({"bound", "a.h5", "--archive", "b.h5"});
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, Contains("bound A.h5 takes none of --archive"));
}

TEST_CASE("a report has the bounds that it is asked for") {
  const Program program;
  REQUIRE(program.run({"run", "tiny.toml", "--archive", "a.h5"}).exit_code == 0);
  const auto page = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"report", "a.h5", "-o", "page"});
    REQUIRE(program.run(words).exit_code == 0);
    return program.page("page");
  };
  CHECK_THAT(page({"--bound"}), Contains("at 3 jobs/s the optimum is in ["));
  CHECK_THAT(page({}), !Contains("the optimum is in ["));
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

TEST_CASE("repeats have one bound, the mean of theirs, and a policy that lacks one is left out") {
  const Program program;
  const std::vector<std::string> three = {"--set", "repeat.n=3"};
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.end(), three.begin(), three.end());
    return program.run(words);
  };
  REQUIRE(
      with({"run", "tiny.toml", "--archive", "a.h5", "--skip", "policy=fcfs,repeat=2"}).exit_code ==
      0);
  const Outcome outcome = with({"bound", "tiny.toml", "--archive", "a.h5"});
  CHECK_THAT(outcome.out,
             Contains("gpu=h100-80gb jps=3: mean JCT >= ") && Contains(") over 3 seeds; alone "));
  CHECK_THAT(outcome.out, Contains("best seen: policy=continuum"));
  CHECK_THAT(outcome.out, Contains("  left out: policy=fcfs has 2 of 3 seeds\n"));
}
