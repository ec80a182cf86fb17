#include <fcntl.h>
#include <unistd.h>

#include "tests/cli/program.hpp"
#include "tests/support/catch.hpp"

using Catch::Matchers::Contains;
using support::lines_of;
using support::Outcome;
using support::Program;

namespace {

const std::string kBegin = "schema = 1\n[sweep]\nbackend = \"sim\"\n";
const std::string kWorkload = "[workload]\nkind = \"swe_smith_like\"\njobs = 3\n";
const std::string kTwoCards =
    "[axes]\ngpu = [\"h100-80gb\", \"a100-40gb\"]\npolicy = [\"fcfs\", \"cpu_offload\"]\n"
    "dram_gib = [16, 128]\njps = [1, 3]\n";

/// Two archives with two cards, of which only the second has the policy pin, and one of a policy
/// whose parts are exchanged.
struct Archives : Program {
  Archives() {
    write("a.toml", kBegin + "name = \"a\"\n" + kTwoCards + kWorkload);
    std::string b = kTwoCards;
    b.replace(b.find("cpu_offload"), 11, "pin");
    write("b.toml", kBegin + "name = \"b\"\n" + b + kWorkload);
    write("c.toml", kBegin + "name = \"c\"\n[axes]\ngpu = [\"h100-80gb\"]\npolicy = [\"fcfs\"]\n" +
                        "\"policy.eviction\" = [\"lru\", \"slru\"]\njps = [3]\n" + kWorkload);
    write("d.toml", kBegin + "name = \"d\"\n[axes]\ngpu = [\"h100-80gb\"]\n" +
                        "policy = [\"fcfs\", \"job_fcfs\"]\njps = [3]\n" +
                        "[policy]\neviction = \"slru\"\n" + kWorkload);
    for (const char* sweep : {"a.toml", "b.toml", "c.toml", "d.toml"}) {
      const Outcome ran = run({"run", sweep});
      INFO(ran.err);
      REQUIRE(ran.exit_code == 0);
    }
  }

  std::string said(const std::vector<std::string>& words, int exit_code = 0) const {
    const Outcome outcome = run(words);
    INFO(outcome.out << outcome.err);
    CHECK(outcome.exit_code == exit_code);
    return exit_code == 0 ? outcome.out : outcome.err;
  }
  /// How many cells these filters leave.
  std::size_t cells(const std::string& archive, std::vector<std::string> filters) const {
    filters.insert(filters.begin(), {"export", archive, "--table", "cells", "--format", "jsonl"});
    return lines_of(said(filters)).size();
  }
};

/// What a plan of this sweep says that refuses it.
std::string refusal(const std::string& sweep, std::vector<std::string> more = {}) {
  const Program program;
  program.write("s.toml", sweep);
  more.insert(more.begin(), {"plan", "s.toml"});
  const Outcome outcome = program.run(more);
  INFO(outcome.err);
  CHECK(outcome.exit_code == 2);
  CHECK(lines_of(outcome.err).size() == 1);
  return outcome.err;
}

std::string small(const std::string& more = "") {
  return kBegin + "name = \"s\"\n[axes]\ngpu = [\"h100-80gb\"]\npolicy = [\"fcfs\"]\njps = [3]\n" +
         kWorkload + more;
}

}  // namespace

TEST_CASE("what tables print as a policy, and runs as a cell, selects cells everywhere") {
  const Archives archives;
  const std::string table = archives.said({"table", "a.h5"});
  CHECK_THAT(table, Contains("cpu_offload-128G"));
  CHECK(archives.cells("a.h5", {"--only", "policy=cpu_offload-128G"}) == 4);
  CHECK(archives.cells("a.h5", {"--only", "policy=fcfs,cpu_offload-16G,jps=3"}) == 4);
  CHECK(archives.cells("a.h5", {"--skip", "policy=cpu_offload-128G"}) == 8);
  CHECK(archives.cells("a.h5", {"--only", "gpu=a100-40gb policy=fcfs jps=1"}) == 1);
  CHECK_THAT(archives.said({"table", "c.h5"}), Contains("fcfs (eviction=slru)"));
  CHECK(archives.cells("c.h5", {"--only", "policy=fcfs (eviction=slru)"}) == 1);
  CHECK_THAT(archives.said({"table", "d.h5"}), Contains("job_fcfs+eviction=slru"));
  CHECK(archives.cells("d.h5", {"--only", "policy=job_fcfs+eviction=slru"}) == 1);
  CHECK(archives.cells("d.h5", {"--only", "policy=fcfs,job_fcfs+eviction=slru"}) == 2);
  CHECK(archives.cells("d.h5", {"--only", "policy=fcfs"}) == 1);
  CHECK_THAT(archives.said({"plan", "a.toml", "--only", "policy=cpu_offload-128G"}),
             Contains("h100-80gb      2       2"));
  CHECK_THAT(archives.said({"run", "d.toml", "--only", "policy=job_fcfs+eviction=slru"}),
             Contains("1 of 1 cells have a result"));
  CHECK_THAT(archives.said({"trace", "a.h5", "gpu=a100-40gb policy=fcfs jps=1", "--requests"}),
             Contains("{"));
  const std::string compared = archives.said(
      {"compare", "a.h5", "--by", "policy,gpu,jps,dram_gib", "--base", "policy=cpu_offload-128G"});
  CHECK_THAT(compared, Contains("cpu_offload  h100-80gb  1    16        cpu_offload-128G"));
  CHECK_THAT(archives.said({"compare", "a.h5", "--base", "policy=cpu_ofload"}, 2),
             Contains("no cell with a result has policy=cpu_ofload (did you mean "
                      "\"cpu_offload\"?); there are fcfs, cpu_offload"));
  CHECK_THAT(archives.said({"table", "a.h5", "--only", "policy=cpu_offload-64G"}, 2),
             !Contains("did you mean"));
}

TEST_CASE("a label must mean one cell") {
  const Archives archives;
  archives.said({"run", "c.toml", "--set", "workload.jobs=4", "--only", "policy.eviction=lru"});
  CHECK_THAT(archives.said({"trace", "c.h5", "gpu=h100-80gb policy=fcfs policy.eviction=lru jps=3",
                            "--requests"},
                           2),
             Contains("several cells have the label"));
}

TEST_CASE("compare names the axis that a sweep sets, and needs no axis that it does not compare") {
  const Archives archives;
  const std::string cards = archives.said({"compare", "a.h5", "--by", "policy,jps,dram_gib"});
  CHECK_THAT(cards, Contains("a100-40gb") && !Contains("engine.kv_tokens"));
  CHECK_THAT(archives.said({"compare", "a.h5", "--by", "dram_gib"}),
             Contains("128       cpu_offload"));
}

TEST_CASE("a word that is no figure, key or argument says what there is") {
  const Archives archives;
  const std::vector<std::pair<std::vector<std::string>, std::string>> rows = {
      {{"table", "a.h5", "--metric", "jct"}, "(did you mean \"jct_wall_mean_s\"?)"},
      {{"table", "a.h5", "--metric", "ttft_p95"}, "\"ttft_p95\"; there are "},
      {{"table", "a.h5", "--only", "rate=2"},
       "no cell has the key \"rate\"; cells differ in gpu, policy, jps, dram_gib, repeat"},
      {{"table", "a.h5", "--only", "gpu=h100-80gb", "jps=3"},
       "unexpected argument \"jps=3\", which goes behind a comma: --only gpu=h100-80gb,jps=3"},
      {{"table", "a.h5", "b.h5"}, "table: unexpected argument \"b.h5\"; usage: kvsweep table"},
      {{"run", "a.toml", "a.toml"}, "\"a.toml\" is given twice"},
      {{"run", "a.toml", "--policy", "fcfs"},
       "unknown option --policy; a key of the sweep is set by --set KEY=VALUE, cells are chosen by "
       "--only KEY=VALUE"},
      {{"run", "a.toml", "--arch", "x.h5"}, "unknown option --arch (did you mean --archive?)"},
      {{"run", "a.h5"}, "a.h5: is an archive (HDF5), and a TOML file is expected"},
      {{"plan", "a.h5"}, "`kvsweep table a.h5` shows its results"},
      {{"run", "b.toml", "--archive", "a.h5"}, "move this one aside with --fresh"},
      {{"report", "a.h5", "-o", "a.toml"}, "a.toml is a file, and a folder is needed"},
      {{"report", "a.h5", "-o", "a.toml/x"}, "a.toml is a file, and a folder is needed"},
      {{"keys", "zzz"}, "no key contains \"zzz\""},
  };
  for (const auto& [words, says] : rows) {
    const Outcome outcome = archives.run(words);
    CHECK(outcome.exit_code ==
          (words[0] == "run" && words.size() == 4 && words[1] == "b.toml" ? 5 : 2));
    CHECK_THAT(outcome.err, Contains(says));
  }
  CHECK_THAT(archives.said({"keys", "tool"}), Contains("workload.tool_hint\n"));
}

TEST_CASE("a sweep file's slip is told in a sentence") {
  const auto axis = [](const std::string& key, const std::string& value) {
    std::string text = small();
    const std::size_t at = text.find(key + " = ");
    return text.replace(at, text.find('\n', at) - at, key + " = " + value);
  };
  const std::vector<std::pair<std::string, std::string>> rows = {
      {axis("gpu", "[\"H100-80GB\"]"), "(did you mean \"h100-80gb\"?)"},
      {axis("policy", "[fcfs]"), "s.toml:7:11: a text must be in quotes: \"fcfs\", found fcfs"},
      {axis("policy", "fcfs"), "s.toml:7:10: a text must be in quotes: \"fcfs\""},
      {axis("policy", "[\"fcfs\", continuum]"),
       "s.toml:7:19: a text must be in quotes: \"continuum\""},
      {axis("policy", "[infercept]"), "a text must be in quotes: \"infercept\""},
      {axis("policy", "[True]"), "must be true or false in small letters, found True"},
      {axis("policy", "[\u201cfcfs\u201d]"), "must have straight quotes (\")"},
      {axis("jps", "[3s]"), "must be a number without a unit, or a text in quotes, found 3s"},
      {small("gap = 5\n"), "unknown key \"workload.gap\" (did you mean \"workload.gap_s\""},
      {small("[policy]\norder = \"plugin\"\n"), "it must be given where policy.order is plugin\n"},
      {axis("gpu", "[\"a100-40gb\"]") + "[sim]\ncost_model = \"measured\"\n",
       "sim.cost_model cannot be used: cost model 'measured' does not exist"},
  };
  for (const auto& [sweep, says] : rows) CHECK_THAT(refusal(sweep), Contains(says));
  for (const char* other : {"h800-80gb", "v100-32gb", "h100-94gb", "gtx5090-32gb", "b100-180gb"})
    CHECK_THAT(refusal(axis("gpu", '[' + ('"' + std::string(other)) + "\"]")),
               !Contains("did you mean") && Contains("has: "));
}

TEST_CASE("an assignment takes one value, and says where several belong") {
  const auto says = [](const std::string& set) { return refusal(small(), {"--set", set}); };
  CHECK_THAT(says("jps=1,3"),
             Contains("several are an axis of the sweep file, [axes] jps = [1, 3]"));
  CHECK_THAT(says("jps=[1,3]"),
             Contains("several are an axis of the sweep file, [axes] jps = [1,3]"));
  CHECK_THAT(says("policy=fcfs,pin"), Contains("[axes] policy = [\"fcfs\", \"pin\"]"));
  CHECK_THAT(says("workload.gap_s=1,3"), Contains("[axes] workload.gap_s = [1,3]"));
  const std::string path =
      refusal(small(), {"--set", "workload.kind=trace", "--set", "workload.path=none.jsonl"});
  CHECK_THAT(path, Contains("workload.path names no file, found \"none.jsonl\"\n"));
}

TEST_CASE("an axis without effect is told as a key is, and a value in another unit") {
  const Program program;
  program.write("s.toml", small() + "gap_s = 5000\n[policy]\nttl_s = 2.0\n");
  std::string text = small();
  text.insert(text.find("jps = "), "dram_gib = [16, 128]\n\"policy.ttl_s\" = [1.0, 2.0]\n");
  program.write("axes.toml", text);
  for (const char* command : {"plan", "run"}) {
    const std::string axes = program.run({command, "axes.toml"}).err;
    CHECK_THAT(axes, Contains("axes.toml:8:1: dram_gib has no effect: it counts where "));
    CHECK_THAT(axes, Contains("axes.toml:9:1: policy.ttl_s has no effect: it counts where "));
  }
  CHECK_THAT(program.run({"plan", "s.toml"}).err,
             Contains("s.toml:12:1: workload.gap_s is 5000 seconds, more than 1000: are "
                      "milliseconds meant?\n"));
  CHECK_THAT(program.run({"plan", "tiny.toml", "--set", "jps=1000000"}).err,
             Contains("--set: jps is 1000000 jobs a second, more than 1000\n"));
  CHECK(program.run({"plan", "tiny.toml"}).err.empty());
}

TEST_CASE("help explains options for the command alone") {
  const Program program;
  CHECK_THAT(program.run({"help", "table"}).out,
             !Contains("claims") && !Contains("jsonl") && Contains("text or csv"));
  CHECK_THAT(program.run({"help", "claims"}).out, Contains("judges this set of claims alone"));
  CHECK_THAT(program.run({"help", "export"}).out,
             Contains("csv or jsonl; aiperf or vllm-bench") && !Contains("perfetto"));
}

TEST_CASE("a missing permission has one exit code") {
  if (::access("/sys/kvsweep", F_OK) == 0) return;
  const int made = ::open("/sys/kvsweep-test", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  if (made >= 0) ::close(made);
  if (made >= 0) return;  // nothing is forbidden here
  const Program program;
  program.run({"run", "tiny.toml"});
  const std::vector<std::vector<std::string>> commands = {
      {"run", "tiny.toml", "--archive", "/sys/x.h5"},
      {"report", "tiny.h5", "-o", "/sys/x"},
      {"export", "tiny.h5", "--table", "cells", "-o", "/sys/x.csv"},
      {"export", "tiny.h5", "--to-archive", "jobs", "-o", "/sys/x.h5"},
      {"trace", "tiny.h5", "0", "--format", "perfetto", "-o", "/sys/x"},
      {"submit", "tiny.toml", "--sku", "h100-80gb", "--archive", "/sys/x.h5"},
      {"merge", "tiny.h5", "-o", "/sys/x.h5"},
      {"salvage", "tiny.h5", "-o", "/sys/x.h5"},
      {"pack", "tiny.h5", "-o", "/sys/x"},
      {"new", "policy", "/sys/x"},
  };
  for (const auto& words : commands) {
    const Outcome outcome = program.run(words);
    INFO(words.front() << ": " << outcome.err);
    CHECK(outcome.exit_code == 2);
  }
}
