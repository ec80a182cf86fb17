#include "tests/cli/program.hpp"
#include "tests/support/catch.hpp"
#include "tests/workload/trace/trace_text.hpp"

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using support::lines_of;
using support::Outcome;
using support::Program;
using trace_test::one_job;

namespace {

std::string replacing(std::string text, const std::string& old, const std::string& by) {
  return text.replace(text.find(old), old.size(), by);
}

/// The tiny sweep, but over a trace.
std::string replaying() {
  return replacing(support::kTinySweep, "kind = \"swe_smith_like\"\njobs = 3",
                   "kind = \"trace\"\npath = \"jobs.jsonl\"\n");
}

/// One line of explanation, exit code 2, and no trace of the attempt.
void check_refused(const Program& program, std::vector<std::string> words,
                   const std::string& complaint) {
  const Outcome outcome = program.run(words);
  INFO(outcome.err);
  CHECK(outcome.exit_code == 2);
  CHECK(lines_of(outcome.err).size() == 1);
  CHECK_THAT(outcome.err, StartsWith("kvsweep: "));
  CHECK_THAT(outcome.err, Contains(complaint));
}

void check_run_refused(const Program& program, const std::string& complaint) {
  check_refused(program, {"run", "tiny.toml"}, complaint);
}

void check_sweep_refused(const std::string& sweep, const std::string& complaint) {
  Program program;
  program.write("tiny.toml", sweep);
  check_run_refused(program, complaint);
}

void check_jobs_refused(const std::string& jobs, const std::string& complaint) {
  Program program;
  program.write("tiny.toml", replaying());
  program.write("jobs.jsonl", jobs);
  check_run_refused(program, complaint);
}

}  // namespace

TEST_CASE("a missing sweep file is named") {
  check_refused(Program(), {"run", "none.toml"}, "none.toml: cannot be read: No such file");
}

TEST_CASE("an archive behind a link that leads to itself is refused") {
  const Program program;
  std::filesystem::create_symlink("loop.h5", program.file("loop.h5"));
  check_refused(program, {"run", "tiny.toml", "--archive", "loop.h5"},
                "--archive loop.h5: Too many levels of symbolic links");
}

TEST_CASE("a sweep file that is no TOML is refused with line and column") {
  check_sweep_refused(replacing(support::kTinySweep, "jobs = 3", "jobs = = 3"), "tiny.toml:11:");
}

TEST_CASE("a sweep with zero jobs, a negative rate or an unknown key is refused at its place") {
  const std::string tiny = support::kTinySweep;
  check_sweep_refused(replacing(tiny, "jobs = 3", "jobs = 0"),
                      "tiny.toml:11:1: workload.jobs must be between 1 and 100000, found 0");
  check_sweep_refused(replacing(tiny, "jps = [3]", "jps = [-3]"), "tiny.toml:8:8: jps must be ");
  check_sweep_refused(replacing(tiny, "jobs = 3", "jbos = 3"),
                      "tiny.toml:11:1: unknown key \"workload.jbos\" (did you mean "
                      "\"workload.jobs\"?)");
  check_sweep_refused(replacing(tiny, "\"fcfs\"", "\"fcsf\""),
                      "tiny.toml:7:11: unknown policy \"fcsf\" (did you mean \"fcfs\"?)");
  check_sweep_refused(replacing(tiny, "\"sim\"", "\"simm\""),
                      "tiny.toml:4:1: sweep.backend must be one of sim, cpu, cuda");
}

TEST_CASE("a cell that comes last is checked before the first one runs") {
  check_sweep_refused(replacing(support::kTinySweep, "jps = [3]", "jps = [3, 1e9]"),
                      "tiny.toml:8:11: jps must be ");
}

TEST_CASE("a trace that is not there is refused at the key that names it") {
  check_sweep_refused(replaying(), "tiny.toml:11:1: workload.path names no file");
}

TEST_CASE("bad JSON in a trace is refused with file, line and column") {
  check_jobs_refused(one_job() + "{\"job\": \"bad\", \"turns\": [\n", "jobs.jsonl:3:");
}

TEST_CASE("an empty file, a chat and a trace without a job are refused") {
  check_jobs_refused("", "jobs.jsonl: is empty");
  check_jobs_refused(R"({"id": "a", "messages": []})", "is no trace of kvsweep");
  check_jobs_refused(trace_test::TraceText().str(), "jobs.jsonl: holds no job");
}

TEST_CASE("a sweep whose jobs cannot be read leaves the folder as it was") {
  Program program;
  program.write("tiny.toml", replaying());
  program.write("jobs.jsonl", one_job() + "{\n");
  const auto before = program.names_in(".");
  CHECK(program.run({"run", "tiny.toml"}).exit_code == 2);
  CHECK(program.names_in(".") == before);
}

TEST_CASE("jobs that only a later cell cannot hold are refused before the first one runs") {
  Program program;
  program.write("tiny.toml", replacing(replaying(), "jps = [3]",
                                       "jps = [3]\n\"engine.max_model_len\" = [16384, 4]"));
  program.write("jobs.jsonl", one_job());
  check_run_refused(program, "jobs.jsonl");
}

TEST_CASE("a wrong command line is refused with what is allowed") {
  const Program program;
  check_refused(program, {"rum"}, "unknown command \"rum\"");
  check_refused(program, {"run"}, "usage: kvsweep run SWEEP.toml");
  check_refused(program, {"run", "tiny.toml", "other.toml"}, "usage: kvsweep run SWEEP.toml");
  check_refused(program, {"run", "tiny.toml", "--frobnicate"}, "--frobnicate");
  check_refused(program, {"run", "tiny.toml", "--job", "1"}, "--job");
  check_refused(program, {"run", "tiny.toml", "--set"}, "--set");
  check_refused(program, {"run", "tiny.toml", "--set", "jps"}, "--set: expected key=value");
  check_refused(program, {"run", "tiny.toml", "--set", "jps=-1"}, "--set: jps must be ");
  check_refused(program, {"run", "tiny.toml", "--backend", "tpu"}, "--backend must be one of ");
  check_refused(program, {"run", "tiny.toml", "--profiles", "none"}, "none");
  check_refused(program, {"workload", "tiny.toml", "--turn", "x"}, "--turn");
}

TEST_CASE("a filter that no cell can match is refused") {
  const Program program;
  check_refused(program, {"run", "tiny.toml", "--only", "policy=lmcache"}, "lmcache");
  check_refused(program, {"run", "tiny.toml", "--skip", "polcy=fcfs"}, "polcy");
}

TEST_CASE("a key that every cell lacks is reported before cells are formed and compared") {
  const std::string sweep =
      replacing(support::kTinySweep, "policy = [\"fcfs\", \"continuum\"]\n", "");
  check_sweep_refused(sweep + "[[include]]\ngpu = \"h100-80gb\"\njps = 3\n",
                      "tiny.toml: the key \"policy\" is missing");
}
