#include <cstdlib>

#include "tests/cli/program.hpp"
#include "tests/support/catch.hpp"

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using support::Outcome;
using support::Program;

TEST_CASE("keys are listed by prefix, as text and Markdown") {
  const Program program;
  const Outcome text = program.run({"keys", "policy.ttl_s"});
  CHECK(text.exit_code == 0);
  CHECK_THAT(text.out, StartsWith("policy.ttl_s\n    Time to live of a pin.\n"));
  CHECK_THAT(program.run({"keys", "--format", "md"}).out, StartsWith("# Keys of a sweep file\n"));
  CHECK(program.run({"keys", "nothing"}).exit_code == 2);
  CHECK_THAT(program.run({"keys", "--format", "csv"}).err, Contains("text or md"));
}

TEST_CASE("policies are listed with a sentence from their files and what these set") {
  const Outcome outcome = Program().run({"policies"});
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, Contains("\njob_fcfs\n"
                                   "    Order alone: a turn has the queue position of its "
                                   "job's first turn.\n"
                                   "    order = job_fcfs, retention = free\n"));
}

TEST_CASE("a policy is shown with the parameters that it uses and what set them") {
  const auto row = [](const std::string& policy, const std::string& key) -> std::string {
    for (const std::string& line : support::lines_of(Program().run({"policies", policy}).out))
      if (line.starts_with(key + ' ')) return line;
    return "";
  };
  CHECK_THAT(row("continuum", "policy.ttl_s"), Contains("2.0 s") && Contains("the file"));
  CHECK_THAT(row("continuum", "policy.ttl_rule"), Contains("fixed") && Contains("default"));
  CHECK(row("continuum", "policy.chunk_tokens").empty());
  CHECK(row("fcfs", "policy.ttl_s").empty());
  CHECK_THAT(Program().run({"policies", "continum"}).err, Contains("did you mean \"continuum\"?"));
}

TEST_CASE("the script for bash completes commands, options, keys and their values") {
  const Program program;
  program.write("completion.bash", program.run({"completion", "bash"}).out);
  program.write("try.bash", R"(source completion.bash
try() {
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
  _kvsweep
  echo "${COMPREPLY[*]}"
}
try kvsweep pla
try kvsweep run a.toml --arch
try kvsweep help trac
try kvsweep plan a.toml --set policy.ttl
try kvsweep plan a.toml --set policy.tier = off
)");
  const std::string folder = program.file("");
  const std::string words = "cd " + folder + " && bash try.bash > completed";
  REQUIRE(std::system(words.c_str()) == 0);
  CHECK(program.read("completed") ==
        "plan\n--archive\ntrace\npolicy.ttl_rule= policy.ttl_s=\noffload\n");
}

TEST_CASE("completion is for two shells") {
  CHECK_THAT(Program().run({"completion", "zsh"}).out, StartsWith("#compdef kvsweep\n"));
  CHECK_THAT(Program().run({"completion", "fish"}).err, Contains("bash or zsh"));
}
