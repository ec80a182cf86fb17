#include <filesystem>

#include "tests/cli/program.hpp"
#include "tests/support/catch.hpp"

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using support::lines_of;
using support::Outcome;
using support::Program;

TEST_CASE("a task of srun that MPI does not see says that it runs alone") {
  const Program program;
  const auto said = [&](const char* variable, const char* tasks) {
    ::setenv(variable, tasks, 1);
    const Outcome outcome = program.run({"run", "tiny.toml"});
    ::unsetenv(variable);
    CHECK(outcome.exit_code == 0);
    return outcome.err;
  };
  CHECK_THAT(
      said("SLURM_STEP_NUM_TASKS", "4"),
      Contains("there are 4 tasks, but MPI sees only this process") && Contains("srun --mpi=pmix"));
  CHECK_THAT(said("SLURM_NTASKS", "4"), Contains("there are 4 tasks"));
  CHECK_THAT(said("PMI_SIZE", "4"), Contains("there are 4 tasks"));
  CHECK_THAT(said("SLURM_STEP_NUM_TASKS", "1"), !Contains("tasks"));
}

TEST_CASE("run says first what it runs on, and ends with the table and which policy is best") {
  const Outcome outcome = Program().run({"run", "tiny.toml"});
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  const auto lines = lines_of(outcome.out);
  CHECK(lines.front() == "tiny: 2 cells, backend sim (modelled, virtual time)");
  CHECK(lines[2] == "h100-80gb: jct_wall_mean_s [s], MODELLED (sim, measured)");
  CHECK_THAT(lines[4], Contains("jps") && Contains("fcfs ") && Contains("continuum"));
  REQUIRE(lines.size() == 21);
  CHECK(lines[15] == "2 of 2 cells have a result");
  CHECK(lines[17] ==
        "By mean job completion time; MODELLED (sim, measured); 1 seed, no intervals below three:");
  CHECK_THAT(lines[18],
             StartsWith("  h100-80gb: at 3 jobs/s continuum and fcfs tie (p99: TTFT 0.") &&
                 Contains("first token 0.") && Contains("JCT "));
  CHECK(lines.back() == "Results: tiny.h5");
}

TEST_CASE("progress is one plain line a cell where standard error is no terminal") {
  const Outcome outcome = Program().run({"run", "tiny.toml", "--workers", "1"});
  const auto lines = lines_of(outcome.err);
  REQUIRE(lines.size() == 2);
  CHECK_THAT(lines[0], StartsWith("gpu=h100-80gb policy=fcfs jps=3: mean jct_wall "));
  CHECK_THAT(lines[1], StartsWith("gpu=h100-80gb policy=continuum jps=3: mean jct_wall "));
  CHECK(outcome.err.find_first_of("\r\033") == std::string::npos);
}

TEST_CASE("a second run finds its results and prints the same") {
  const Program program;
  const Outcome once = program.run({"run", "tiny.toml", "--workers", "1"});
  const Outcome again = program.run({"run", "tiny.toml"});
  CHECK(again.exit_code == 0);
  CHECK(again.out == once.out);
  CHECK(again.err.empty());  // nothing ran
  const Outcome fresh = program.run({"run", "tiny.toml", "--fresh", "--workers", "1"});
  CHECK(fresh.out == once.out);
  CHECK_THAT(fresh.err, Contains(once.err));  // both ran
}

TEST_CASE("the flags --only, --skip and --set choose and change cells") {
  const auto progress_of = [](const std::vector<std::string>& filters) {
    std::vector<std::string> words = {"run", "tiny.toml"};
    words.insert(words.end(), filters.begin(), filters.end());
    return Program().run(words).err;
  };
  const std::string only = progress_of({"--only", "policy=continuum"});
  CHECK(lines_of(only).size() == 1);
  CHECK_THAT(only, StartsWith("gpu=h100-80gb policy=continuum jps=3: "));
  const std::string skip = progress_of({"--skip", "policy=continuum"});
  CHECK(lines_of(skip).size() == 1);
  CHECK_THAT(skip, StartsWith("gpu=h100-80gb policy=fcfs jps=3: "));
  const std::string set = progress_of({"--set", "workload.jobs=2", "--set", "jps=1"});
  CHECK_THAT(set, Contains("gpu=h100-80gb policy=fcfs jps=1: "));
}

/// The tiny sweep with the policy pin beside; the other two cannot run.
constexpr char kOneOfThreeRuns[] = R"(schema = 1
[sweep]
name = "tiny"
backend = "sim"
[axes]
gpu = ["h100-80gb"]
policy = ["fcfs", "continuum", "pin"]
jps = [3]
[workload]
kind = "swe_smith_like"
jobs = 3
[[override]]
policy = ["continuum"]
engine.kv_tokens = 1000
[[exclude]]
policy = ["fcfs"]
reason = "measured elsewhere"
)";

TEST_CASE("a run ends with the reasons why cells have no result") {
  Program program;
  program.write("mixed.toml", kOneOfThreeRuns);
  const Outcome outcome = program.run({"run", "mixed.toml"});
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, Contains("\nexcluded: 1 cell: measured elsewhere\n"));
  CHECK_THAT(outcome.out, Contains("\n1 of 2 cells have a result; 1 excluded\n"));
  CHECK_THAT(outcome.out, Contains("infeasible"));
  CHECK_THAT(outcome.out, Contains("holds 992 tokens in whole blocks"));
}

TEST_CASE("a run of which no cell can run is refused with the reasons, and leaves no archive") {
  Program program;
  program.write("mixed.toml", kOneOfThreeRuns);
  const Outcome outcome = program.run({"run", "mixed.toml", "--skip", "policy=pin"});
  CHECK(outcome.exit_code == 2);
  const auto lines = lines_of(outcome.err);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0] == "kvsweep: mixed.toml: no cell can run");
  CHECK(lines[1] == "  1 cell is excluded: measured elsewhere");
  CHECK_THAT(lines[2], StartsWith("  1 cell is infeasible: the KV pool of h100-80gb"));
  CHECK_FALSE(program.exists("tiny.h5"));
}

TEST_CASE("a key without an effect on the backend is reported with its place, and the cells run") {
  const Program program;
  program.write("tiny.toml", support::kTinySweep + "[weights]\ncheckpoint = \".\"\n");
  const std::string notice =
      "kvsweep: tiny.toml:13:1: weights.checkpoint has no effect on backend sim";
  for (const std::string command : {"plan", "run"}) {
    INFO(command);
    const Outcome outcome = program.run({command, "tiny.toml"});
    CHECK(outcome.exit_code == 0);
    REQUIRE_FALSE(lines_of(outcome.err).empty());
    CHECK(lines_of(outcome.err).front() == notice);
  }
  const Outcome set = program.run({"plan", "tiny.toml", "--set", "engine.debug=true"});
  CHECK_THAT(set.err, Contains("kvsweep: --set: engine.debug has no effect on backend sim"));
}

TEST_CASE("a key that counts in no cell is named with the condition under which it would") {
  const Program program;
  const auto notices = [&](const std::string& policy) {
    return program
        .run({"plan", "tiny.toml", "--set", "policy=" + policy, "--set", "policy.ttl_s=3"})
        .err;
  };
  CHECK(notices("fcfs") ==
        "kvsweep: --set: policy.ttl_s has no effect: it counts where policy.retention is pin and "
        "policy.ttl_rule is fixed\n");
  CHECK(notices("continuum").empty());
}

TEST_CASE("a policy's parameter is an axis beside a policy without it, which runs once") {
  const Program program;
  std::string sweep = support::kTinySweep;
  sweep.replace(sweep.find("jps = [3]"), 9, "jps = [3]\n\"policy.ttl_s\" = [1, 2]");
  program.write("ttl.toml", sweep);
  const Outcome outcome = program.run({"plan", "ttl.toml"});
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, Contains("tiny: 3 cells"));
  CHECK_THAT(outcome.out, Contains("policy=fcfs jps=3: new"));
  CHECK_THAT(outcome.out, Contains("policy=continuum jps=3 policy.ttl_s=2: new"));
}

TEST_CASE("what is wrong with a cell that --only leaves out does not stop the others") {
  const Program program;
  std::string sweep = support::kTinySweep;
  sweep.replace(sweep.find("[\"h100-80gb\"]"), 13, "[\"no-such-card\", \"h100-80gb\"]");
  program.write("cards.toml", sweep);
  CHECK_THAT(program.run({"plan", "cards.toml"}).err, Contains("unknown gpu \"no-such-card\""));
  const Outcome one = program.run({"run", "cards.toml", "--only", "gpu=h100-80gb"});
  INFO(one.err);
  CHECK(one.exit_code == 0);
  CHECK_THAT(one.out, Contains("2 of 2 cells have a result"));
  const Outcome none = program.run({"plan", "cards.toml", "--only", "gpu=no-such-card"});
  CHECK(none.exit_code == 2);
}

TEST_CASE("cells that are equal on the backend are refused with the axis in which they differ") {
  const Program program;
  program.write("chunks.toml", R"(schema = 1
[sweep]
name = "chunks"
backend = "sim"
[axes]
gpu = ["h200-141gb"]
model = ["llama-3.1-8b"]
policy = ["fcfs"]
"engine.prefill_attention" = ["paged", "contiguous"]
[workload]
kind = "pair"
requests = "64+1"
)");
  for (const std::string command : {"plan", "run"}) {
    const Outcome outcome = program.run({command, "chunks.toml"});
    INFO(outcome.err);
    CHECK(outcome.exit_code == 2);
    CHECK_THAT(outcome.err, Contains("chunks.toml:9:40: the cells \"gpu=h200-141gb"));
    CHECK_THAT(outcome.err, Contains("are one experiment on backend sim, where "
                                     "engine.prefill_attention has no effect: --set it"));
  }
}

TEST_CASE("cells that fail are shown with their reason, and run again") {
  const Program program;
  program.write("tiny.toml", support::kTinySweep + support::kFailing);
  program.write("fail", "");
  const Outcome failed = program.run({"run", "tiny.toml", "--archive", "a.h5"});
  CHECK(failed.exit_code == 3);
  CHECK_THAT(failed.out, Contains("failed: ") && Contains("no number as its rank"));
  CHECK_THAT(failed.out, Contains("\n0 of 2 cells have a result\n"));
  CHECK_THAT(program.run({"status", "a.h5"}).out, Contains("no number as its rank"));
  std::filesystem::remove(program.file("fail"));
  const Outcome again = program.run({"run", "tiny.toml", "--archive", "a.h5"});
  INFO(again.err);
  CHECK(again.exit_code == 0);
  CHECK_THAT(again.out, Contains("\n2 of 2 cells have a result\n"));
}

TEST_CASE("naive batches run as any policy does") {
  const Outcome outcome = Program().run({"run", "tiny.toml", "--set", "policy=contiguous", "--set",
                                         "engine.max_num_batched_tokens=16384"});
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
}

TEST_CASE("output that cannot be written is an error") {
  const Program program;
  for (const std::vector<std::string>& words : {std::vector<std::string>{"run", "tiny.toml"},
                                                {"workload", "tiny.toml"},
                                                {"--help"},
                                                {"run", "--help"},
                                                {"--version"}}) {
    INFO(words[0]);
    const Outcome outcome = program.run(words, "/dev/full");
    CHECK(outcome.exit_code == 1);
    CHECK_THAT(outcome.err, Contains("kvsweep: cannot write standard output"));
  }
}

TEST_CASE("the quickstart's host tier is read on a real model") {
  const Program program;
  const std::string sweep = std::filesystem::absolute("sweeps/experiments/quickstart-cpu.toml");
  const Outcome ran = program.run({"run", sweep, "--only", "policy=cpu_offload", "--set",
                                   "workload.jobs=5", "--archive", "q.h5"});
  INFO(ran.err);
  REQUIRE(ran.exit_code == 0);
  const std::string hits = program.run({"table", "q.h5", "--metric", "host_hit_rate"}).out;
  CHECK_THAT(hits, Contains("host_hit_rate") &&
                       Catch::Matchers::Matches("(?:.|\n)*mean +0?\\.?0*[1-9](?:.|\n)*"));
  const std::string fit = program.run({"fit", "q.h5"}).out;  // a processor is not the card it plays
  CHECK_THAT(fit, StartsWith("MEASURED (cpu): ") && !Contains("[measured]"));
}
