#include <algorithm>
#include <filesystem>

#include "tests/cli/program.hpp"
#include "tests/support/catch.hpp"

using Catch::Matchers::Contains;
using support::Outcome;
using support::Program;

namespace {

/// Sixteen agents whose tools take 5 s, longer than Continuum's time to live, on a pool that seven
/// fill.
std::string slow_tools() {
  std::string text = support::kTinySweep;
  text.replace(text.find("\"fcfs\", "), 8, "");
  text.replace(text.find("jobs = 3"), 8, "jobs = 16\ngap_s = 5.0");
  return text + R"([sim]
cost_model = "kernels"
[engine]
kv_tokens = 80000
[tune]
policy = "continuum"
candidates = 4
train = 5
held_out = 5
[tune.range]
"policy.ttl_s" = [10.0, 60.0]
[tune.choice]
"policy.threshold_s" = [2.0, 60.0]
)";
}

std::string with(const std::string& replaced, const std::string& by) {
  std::string text = slow_tools();
  return text.replace(text.find(replaced), replaced.size(), by);
}

}  // namespace

TEST_CASE("tune finds a better time to live by itself, and says what it gains on other seeds") {
  const Program program;
  program.write("slow.toml", slow_tools());
  const Outcome tuned = program.run({"tune", "slow.toml", "-o", "tuned"});
  INFO(tuned.err);
  REQUIRE(tuned.exit_code == 0);
  CHECK_THAT(tuned.out, Contains("4 candidates for continuum\n3 seeds: 5 policies, "));
  CHECK_THAT(tuned.out, Contains("policy.threshold_s = 60") && Contains("policy.ttl_s = "));
  CHECK_THAT(tuned.out, Contains("jct_wall_mean_s is 0.") &&
                            Contains(" of the untuned continuum's on 5 held-out seeds\n"));
  const std::string policy = program.read("tuned/continuum-tuned.toml");
  CHECK_THAT(policy, Contains("# Tuned by kvsweep tune (tiny): jct_wall_mean_s is 0."));
  CHECK_THAT(policy, Contains("\nthreshold_s = 60") && Contains("\nretention = \"pin\"\n"));
  const std::string table = program.read("tuned/candidates.csv");
  CHECK(support::lines_of(table).front() ==
        "policy,policy.threshold_s,policy.ttl_s,seeds,ratio,low95,high95,out");
  CHECK_THAT(table, Contains("continuum-04,"));
  const auto cells = support::lines_of(
      program.run({"export", "tuned/train.h5", "--table", "cells", "--format", "csv"}).out);
  const auto having = [&](const std::string& text) {
    return std::ranges::count_if(
        cells, [&](const std::string& line) { return line.find(text) != std::string::npos; });
  };
  CHECK(having(",excluded,") > 0);
  CHECK(having(",excluded,") == having(" of continuum-"));
  CHECK(having(",excluded,") == having(" seeds,"));
  CHECK_THAT(program.run({"status", "tuned/train.h5"}).out,
             Contains(" 0 running, 0 left, 0 failed (") &&
                 Contains("excluded, infeasible or not asked for)"));

  SECTION("again, it has everything already") {
    const std::string before = program.read("tuned/train.h5");
    CHECK(program.run({"tune", "slow.toml", "-o", "tuned"}).out == tuned.out);
    CHECK(program.read("tuned/candidates.csv") == table);
    CHECK(program.read("tuned/train.h5") == before);
  }
  SECTION("the folder is not taken for another search") {
    program.write("slow.toml", with("candidates = 4", "candidates = 5"));
    const Outcome other = program.run({"tune", "slow.toml", "-o", "tuned"});
    CHECK(other.exit_code == 2);
    CHECK_THAT(other.err, Contains("tuned has the tuning of another sweep file"));
  }
}

TEST_CASE("tune says so when the policy as it is wins") {
  const Program program;
  program.write("slow.toml", with("[2.0, 60.0]", "[2.0]"));  // pins nothing, whatever the time
  const std::string said = program.run({"tune", "slow.toml", "-o", "tuned"}).out;
  CHECK_THAT(said, Contains("4 other policies are not told from continuum by these seeds: see "));
  CHECK_THAT(said, Contains("continuum stays as it is: no candidate is better\n"));
}

TEST_CASE("a candidate that gains nothing on held-out cells is not written") {
  const Program program;
  const std::string slower = "[tune.held_out_set]\n\"workload.gap_s\" = 100.0\n";
  program.write("slow.toml", slow_tools() + slower);  // beyond every threshold: no pins
  const std::string said = program.run({"tune", "slow.toml", "-o", "tuned"}).out;
  CHECK_THAT(said, Contains("is 1.000 (1.000 to 1.000) of the untuned continuum's") &&
                       Contains("no gain shown on held-out seeds: continuum stays as it is\n"));
  CHECK_FALSE(program.exists("tuned/continuum-tuned.toml"));
}

TEST_CASE("values with commas stay one field of the table of candidates") {
  const Program program;
  std::string text = with("\"policy.threshold_s\" = [2.0, 60.0]",
                          "\"policy.retained\" = [\"0-512:100, generated:20\", \"\"]");
  text.replace(text.find("train = 5"), 9, "train = 3");
  program.write("slow.toml", text);
  program.run({"tune", "slow.toml", "-o", "tuned"});
  CHECK_THAT(program.read("tuned/candidates.csv"), Contains(",\"0-512:100, generated:20\","));
}

TEST_CASE("a metric of which more is better is tuned upwards") {
  const Program program;
  program.write("slow.toml", with("[tune]\n", "[tune]\nmetric = \"prefix_hit_rate\"\n"));
  CHECK_THAT(program.run({"tune", "slow.toml", "-o", "tuned"}).out,
             Contains("policy.threshold_s = 60") && Contains("prefix_hit_rate is 1."));
}

TEST_CASE("held-out cells may have other keys, and the gain names them") {
  const Program program;
  program.write("slow.toml", slow_tools() + "[tune.held_out_set]\n\"workload.gap_s\" = 4.0\n");
  const Outcome tuned = program.run({"tune", "slow.toml", "-o", "tuned"});
  CHECK_THAT(tuned.out, Contains(" on 5 held-out seeds with workload.gap_s = 4.0\n"));
}

TEST_CASE("tune says on the screen why its runs wait and why it ends") {
  const Program program;
  program.write("slow.toml", slow_tools());
  const auto tuned_by = [&](const std::string& script) {
    program.write("launch.sh", script + "\n");
    return program.run({"tune", "slow.toml", "-o", "tuned", "--launch", "sh launch.sh"});
  };
  const Outcome drained = tuned_by("echo 'left: cell 3: the run was asked to end'\nexit 75");
  CHECK(drained.exit_code == 75);
  CHECK_THAT(drained.err, Contains("left: cell 3: the run was asked to end\nkvsweep: tune ends, "
                                   "since a run stopped before its last cell (exit code 75, "
                                   "tuned/runs.log); the same command continues\n"));
  CHECK_THAT(tuned_by("exit 6").err, Contains("since a run found its archive in use (exit code 6"));
  const Outcome waits = tuned_by("echo 'kvsweep: train.h5 is in use; waiting for it' >&2\n\"$@\"");
  CHECK(waits.exit_code == 0);
  CHECK_THAT(waits.err, Contains("kvsweep: 5 policies run on 3 seeds; their output goes to "
                                 "tuned/runs.log\nkvsweep: train.h5 is in use; waiting for it\n"));
  CHECK_THAT(waits.out, Contains("\nthe race ends: "));
}

TEST_CASE("tune with a launcher that is not there leaves no folder") {
  const Program program;
  program.write("slow.toml", slow_tools());
  const Outcome found = program.run({"tune", "slow.toml", "-o", "tuned", "--launch", "nosuch"});
  CHECK(found.exit_code == 2);
  CHECK_THAT(found.err, Contains("--launch: there is no program \"nosuch\""));
  CHECK_FALSE(program.exists("tuned"));
}

TEST_CASE("a search that cannot be is refused, with its place") {
  const Program program;
  int folders = 0;
  const auto complaint = [&](const std::string& text) {
    program.write("slow.toml", text);
    const Outcome outcome =
        program.run({"tune", "slow.toml", "-o", "tuned" + std::to_string(++folders)});
    CHECK(outcome.exit_code == 2);
    return outcome.err;
  };
  CHECK_THAT(complaint(support::kTinySweep), Contains("slow.toml: the table [tune] is missing"));
  CHECK_THAT(complaint(with("[10.0, 60.0]", "[60.0, 10.0]")),
             Contains("slow.toml:23:") && Contains("must begin with its least value"));
  CHECK_THAT(complaint(with("[10.0, 60.0]", "[10.0]")), Contains("found 1 value"));
  CHECK_THAT(complaint(with("\"policy.ttl_s\"", "jps")), Contains("found \"jps\""));
  CHECK_THAT(complaint(with("train = 5", "trian = 5")),
             Contains("unknown key \"tune.trian\" (did you mean \"tune.train\"?)"));
  CHECK_THAT(complaint(with("train = 5", "train = 2")), Contains("tune.train"));
  CHECK_THAT(complaint(with("policy = \"continuum\"\nc", "policy = \"continum\"\nc")),
             Contains("the policy to tune, \"continum\", is not on the axis \"policy\""));
  CHECK_THAT(complaint(with("[tune]\n", "[tune]\nmetric = \"steps\"\n")),
             Contains("must be a figure of which less or more is better, found \"steps\""));
  CHECK_THAT(complaint(with("[tune]\n", "[tune]\nmetric = \"jct_wall_means_s\"\n")),
             Contains("tune.metric: "));
  CHECK_THAT(complaint(slow_tools() + "[policy]\neviction = \"oracle\"\n"),
             Contains("policy.eviction would change every candidate"));
  program.write("slow.toml", slow_tools());
  CHECK_THAT(program.run({"tune", "slow.toml", "-o", "other", "--set", "policy.ttl_s=3.0"}).err,
             Contains("policy.ttl_s=3.0 would change every candidate"));
  CHECK_THAT(complaint(with("gap_s = 5.0", "gap_s = -5.0")), Contains("workload.gap_s"));
  CHECK_THAT(program.run({"tune", "slow.toml"}).err, Contains("tune needs -o DIR"));
}
