#include "tests/cli/program.hpp"
#include "tests/support/catch.hpp"
#include "tests/workload/trace/trace_text.hpp"

using Catch::Matchers::Contains;
using support::lines_of;
using support::Outcome;
using support::Program;

TEST_CASE("workload describes the jobs of a sweep: turns, tokens and tools") {
  const Outcome outcome = Program().run({"workload", "tiny.toml"});
  REQUIRE(outcome.exit_code == 0);
  for (const std::string part : {"swe_smith_like seed 42", "turns per job",
                                 "prompt tokens per turn", "output tokens per turn", "submit"})
    CHECK_THAT(outcome.out, Contains(part));
  CHECK(outcome.err.empty());
}

TEST_CASE("workload shows KV over time beside the pool of each GPU that the model fits") {
  const Outcome outcome = Program().run({"workload", "tiny.toml"});
  for (const std::string part : {"h200-141gb", "l40s-48gb", "458000"})
    CHECK_THAT(outcome.out, Contains(part));
  CHECK_THAT(Program().run({"workload", "tiny.toml", "--set", "engine.kv_tokens=32000"}).out,
             !Contains("458000"));
}

TEST_CASE("workload says how much of each pool is computed while a job is away") {
  Program program;
  const std::string away = "Tokens computed for others while a job is away";
  CHECK_THAT(program.run({"workload", "tiny.toml"}).out,
             Contains(away) &&
                 Contains("its next turn passes (mean 1.0 s), in steps of 2048 prompt tokens"));
  CHECK_THAT(program.run({"workload", "tiny.toml", "--set", "workload.gap_s=5"}).out,
             Contains("its next turn passes (mean 5.0 s)"));
  program.write("single_turns.jsonl", trace_test::one_job());
  CHECK_THAT(program
                 .run({"workload", "tiny.toml", "--set", "workload.kind=trace", "--set",
                       "workload.path=single_turns.jsonl", "--set", "workload.jobs=1"})
                 .out,
             Contains("turns per job") && !Contains(away));
}

TEST_CASE("workload shows the token budget of one turn, the job named by number or id") {
  const Program program;
  const Outcome by_number = program.run({"workload", "tiny.toml", "--job", "1", "--turn", "2"});
  REQUIRE(by_number.exit_code == 0);
  for (const std::string part :
       {"prompt_tokens", "output_tokens", "reusable", "min steps", "turn 2 of"})
    CHECK_THAT(by_number.out, Contains(part));
  const Outcome by_id =
      program.run({"workload", "tiny.toml", "--job", "swe-smith-like-00001", "--turn", "2"});
  CHECK(by_id.out == by_number.out);
  CHECK(by_number.out != program.run({"workload", "tiny.toml", "--job", "1"}).out);
}

TEST_CASE("plan, run and workload say what the converter of a trace assumed") {
  Program program;
  program.write("t.jsonl", trace_test::TraceText()
                               .job("a", {{{{"1", 200}}, 5}})
                               .str(R"(, "assumed": ["four bytes are a token"])"));
  for (const std::string command : {"plan", "run", "workload"}) {
    const Outcome outcome =
        program.run({command, "tiny.toml", "--set", "workload.kind=trace", "--set",
                     "workload.path=t.jsonl", "--set", "workload.jobs=1"});
    CHECK_THAT(outcome.out, Contains("t.jsonl: assumed: four bytes are a token"));
    CHECK_THAT(program.run({command, "tiny.toml"}).out, !Contains("assumed"));
  }
}

TEST_CASE("workload --check says what a trace was made of, what it holds and what is wrong") {
  const Program program;
  program.write("t.jsonl",
                trace_test::TraceText()
                    .job("a", {{{{"1", 200}}, 5}, {{{"1", 200}, {"2", 9}}, 6}})
                    .str(R"(, "source": {"file": "c.jsonl"}, "tokenizer": "ranks", "left_out": )"
                         R"([{"what": "failed requests", "count": 3, "why": "no answer"}])"));
  const Outcome checked = program.run({"workload", "--check", "t.jsonl"});
  CHECK(checked.exit_code == 0);
  for (const std::string part :
       {"made of c.jsonl by the converter test; tokens are counted by ranks",
        "left out: 3 failed requests (no answer)", "1 jobs, 1 agents", "prompt tokens per turn"})
    CHECK_THAT(checked.out, Contains(part));
  program.write("t.jsonl", "{}\n");
  const Outcome refused = program.run({"workload", "--check", "t.jsonl"});
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, Contains("t.jsonl: is no trace of kvsweep"));
}

TEST_CASE("a job or a turn that is not there is refused with those that are") {
  const Program program;
  const Outcome job = program.run({"workload", "tiny.toml", "--job", "3"});
  CHECK(job.exit_code == 2);
  CHECK_THAT(job.err, Contains("--job must be a job's id or a number from 0 to 2, found \"3\""));
  for (const std::string turn : {"99", "0", "-1"}) {
    const Outcome refused = program.run({"workload", "tiny.toml", "--job", "0", "--turn=" + turn});
    CHECK(refused.exit_code == 2);
    CHECK(lines_of(refused.err).size() == 1);
    CHECK_THAT(refused.err, Contains("turn"));
  }
}

TEST_CASE("workload escapes control characters in names from files") {
  Program program;
  program.write("jobs.jsonl",
                trace_test::TraceText()
                    .job("\\u001b[2J",
                         {{{{"1", 20}}, 5, R"(, "tool": "\u001b]0;x\u0007ls")"}, {{{"1", 20}}, 5}})
                    .str());
  std::vector<std::string> words = {"workload", "tiny.toml",
                                    "--set",    "workload.kind=trace",
                                    "--set",    "workload.path=jobs.jsonl",
                                    "--set",    "workload.jobs=1"};
  const Outcome table = program.run(words);
  INFO(table.err);
  REQUIRE(table.exit_code == 0);
  CHECK_THAT(table.out, Contains(R"(\x1b]0;x\x07ls )"));
  CHECK(table.out.find('\x1b') == std::string::npos);
  words.insert(words.end(), {"--job", "0"});
  const Outcome budget = program.run(words);
  CHECK_THAT(budget.out, Contains(R"(job \x1b[2J, )"));
  CHECK(budget.out.find('\x1b') == std::string::npos);
}
