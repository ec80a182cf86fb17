#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"
#include "tests/support/catch.hpp"

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using nlohmann::json;
using support::lines_of;
using support::Outcome;
using support::Program;

namespace {

/// A folder with the archive of a finished run, tiny.h5.
class FinishedRun : public Program {
 public:
  explicit FinishedRun(std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"run", "tiny.toml"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = run(words);
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == 0);
  }

  /// What the program says; it must succeed.
  std::string said(const std::vector<std::string>& words) const {
    const Outcome outcome = run(words);
    INFO(outcome.err);
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.err.empty());
    return outcome.out;
  }

  /// For commands that report progress.
  void said_quietly(const std::vector<std::string>& words) const {
    REQUIRE(run(words).exit_code == 0);
  }

  void check_refused(const std::vector<std::string>& words, int exit_code,
                     const std::string& message) const {
    const Outcome outcome = run(words);
    INFO(words[0] << ": " << outcome.err);
    CHECK(outcome.exit_code == exit_code);
    CHECK(lines_of(outcome.err).size() == 1);
    CHECK_THAT(outcome.err, StartsWith("kvsweep: ") && Contains(message));
  }

  std::string key_of(std::size_t cell) const {
    const std::string cells =
        run({"export", "tiny.h5", "--table", "cells", "--format", "jsonl"}).out;
    return json::parse(lines_of(cells).at(cell)).at("key");
  }
};

const std::vector<std::vector<std::string>> kReadingCommands = {
    {"status", "ARCHIVE"},
    {"check", "ARCHIVE"},
    {"check", "--equal", "ARCHIVE", "ARCHIVE"},
    {"merge", "ARCHIVE", "ARCHIVE", "-o", "merged.h5"},
    {"compare", "ARCHIVE"},
    {"fit", "ARCHIVE"},
    {"table", "ARCHIVE"},
    {"claims", "ARCHIVE"},
    {"export", "ARCHIVE", "--table", "cells"},
    {"trace", "ARCHIVE", "0"},
    {"plan", "tiny.toml", "--archive", "ARCHIVE"}};

std::vector<std::string> on(std::vector<std::string> words, const std::string& archive) {
  std::ranges::replace(words, std::string("ARCHIVE"), archive);
  return words;
}

}  // namespace

TEST_CASE("a missing archive is a usage error, a file of another kind is a bad archive") {
  const FinishedRun run;
  run.write("none.h5", "not an archive\n");
  for (const auto& words : kReadingCommands) {
    run.check_refused(on(words, "missing.h5"), 2, "missing.h5");
    if (words[0] == "check" && words.size() == 2) continue;
    run.check_refused(on(words, "none.h5"), 5, "none.h5 is not an archive");
  }
  CHECK_FALSE(run.exists("merged.h5"));
}

TEST_CASE("an archive cut short is a bad archive, and stays as it is") {
  const FinishedRun run;
  const std::string bytes = run.read("tiny.h5");
  run.write("short.h5", bytes.substr(0, bytes.size() / 2));
  for (const auto& words : kReadingCommands) {
    INFO(words[0]);
    CHECK(run.run(on(words, "short.h5")).exit_code == 5);
  }
  CHECK(run.read("short.h5").size() == bytes.size() / 2);
}

TEST_CASE("status counts what is done, failed and left, by GPU too") {
  const FinishedRun run({"--only", "policy=fcfs"});
  CHECK_THAT(run.said({"status", "tiny.h5"}),
             StartsWith("tiny: 1/2 done, 0 running, 1 left, 0 failed, backend sim\n"));
  const json status = json::parse(run.said({"status", "tiny.h5", "--json"}));
  CHECK(status["done"] == 1);
  CHECK(status["left"] == 1);
  CHECK(status["over"] == false);
  CHECK(status["gpus"][0]["gpu"] == "h100-80gb");
  CHECK(status["gpus"][0]["cells"] == 2);
}

TEST_CASE("a watched status ends when nothing is left") {
  const FinishedRun run;
  CHECK_THAT(run.said({"status", "tiny.h5", "--watch"}), StartsWith("tiny: 2/2 done"));
}

TEST_CASE("a mark is a running cell as long as its process may live") {
  const FinishedRun run;
  const support::TempDir folder;
  const std::string archive = (folder.path() / "half.h5").string();
  run.said_quietly({"run", "tiny.toml", "--archive", archive, "--only", "policy=fcfs"});
  const json cell = json::parse(run.said(
      {"export", archive, "--table", "cells", "--format", "jsonl", "--only", "policy=fcfs"}));
  std::filesystem::create_directory(archive + ".d");
  const auto status_with = [&](const std::string& mark) {
    folder.write("half.h5.d/" + run.key_of(1) + ".run", mark);
    return run.said({"status", archive});
  };
  const std::string elsewhere =
      status_with("attempt=2\ndeaths=0\nhost=elsewhere\npid=12\nphase=run\n");
  CHECK_THAT(elsewhere, Contains("1/2 done, 1 running, 0 left"));
  CHECK_THAT(elsewhere, Contains("policy=continuum jps=3: attempt 2, process 12 on elsewhere"));
  const std::string host = cell["host"];
  CHECK_THAT(status_with("attempt=1\nhost=" + host + "\npid=" + std::to_string(getpid()) + "\n"),
             Contains("1 running"));
  constexpr int kNoProcess = 2'000'000'000;  // above the largest pid of Linux
  CHECK_THAT(status_with("attempt=1\nhost=" + host + "\npid=" + std::to_string(kNoProcess) + "\n"),
             Contains("0 running, 1 left"));
}

TEST_CASE("check counts what is there and finds a changed byte") {
  const FinishedRun run;
  CHECK_THAT(run.said({"check", "tiny.h5"}), StartsWith("ok: 2 cells, 2 with a result\n"));
  std::string bytes = run.read("tiny.h5");
  bool found =
      false;  // at the first of these places that is part of the data, not of room that is left
  for (std::size_t at = bytes.size() / 4; at < bytes.size() && !found; at += bytes.size() / 64) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    run.write("changed.h5", changed);
    found = run.run({"check", "changed.h5"}).exit_code == 5;
  }
  CHECK(found);
}

TEST_CASE("archives of the same cells are equal, others differ with a reason and exit code 3") {
  const FinishedRun run;
  REQUIRE(run.run({"run", "tiny.toml", "--archive", "again.h5"}).exit_code == 0);
  CHECK(run.said({"check", "--equal", "tiny.h5", "again.h5"}) == "equal\n");
  REQUIRE(run.run({"run", "tiny.toml", "--archive", "other.h5", "--set", "workload.jobs=2"})
              .exit_code == 0);
  const Outcome outcome = run.run({"check", "--equal", "tiny.h5", "other.h5"});
  CHECK(outcome.exit_code == 3);
  CHECK_THAT(outcome.out, Contains("differs in row 0"));
  REQUIRE(
      run.run({"run", "tiny.toml", "--archive", "one.h5", "--set", "policy=continuum"}).exit_code ==
      0);
  for (const bool first : {true, false})
    CHECK(run.said(
              {"check", "--equal", first ? "one.h5" : "tiny.h5", first ? "tiny.h5" : "one.h5"}) ==
          "equal\ncells that both have: 1; only one archive has a result of 1 more\n");
  REQUIRE(
      run.run({"run", "tiny.toml", "--archive", "half.h5", "--only", "policy=fcfs"}).exit_code ==
      0);
  CHECK_THAT(run.said({"check", "--equal", "half.h5", "tiny.h5"}), StartsWith("equal\ncells that"));
  CHECK(run.run({"check", "--equal", "tiny.h5", "half.h5"}).exit_code == 3);
  run.check_refused({"check", "--equal", "tiny.h5"}, 2, "usage");
  run.check_refused({"check", "--ignore-times", "tiny.h5"}, 2, "--ignore-times needs --equal");
}

TEST_CASE("the halves of a sweep merge into what one run gives, in either order") {
  const FinishedRun run;
  REQUIRE(run.run({"run", "tiny.toml", "--archive", "a.h5", "--only", "policy=fcfs"}).exit_code ==
          0);
  REQUIRE(run.run({"run", "tiny.toml", "--archive", "b.h5", "--skip", "policy=fcfs"}).exit_code ==
          0);
  CHECK(run.said({"merge", "a.h5", "b.h5", "-o", "ab.h5"}) == "ab.h5: 2 cells, 2 with a result\n");
  run.said({"merge", "b.h5", "a.h5", "-o", "ba.h5"});
  CHECK(run.said({"check", "--equal", "ab.h5", "tiny.h5"}) == "equal\n");
  CHECK(run.said({"check", "--equal", "ab.h5", "ba.h5"}) == "equal\n");
  run.check_refused({"merge", "a.h5", "b.h5", "-o", "ab.h5"}, 2, "ab.h5 exists already");
  run.check_refused({"merge", "a.h5", "b.h5"}, 2, "-o");
  std::filesystem::create_symlink("nowhere", run.file("link.h5"));
  run.check_refused({"merge", "a.h5", "b.h5", "-o", "link.h5"}, 2, "link.h5 exists already");
}

TEST_CASE("a trace is of a cell by its number, its key or the start of that") {
  const FinishedRun run;
  const std::string trace = run.said({"trace", "tiny.h5", "1"});
  for (const std::string& cell : {run.key_of(1), run.key_of(1).substr(0, 8)})
    CHECK(run.said({"trace", "tiny.h5", cell}) == trace);
}

TEST_CASE("a report is refused where no folder can be, and leaves the file there as it is") {
  const FinishedRun run;
  const std::string before = run.read("tiny.h5");
  run.check_refused({"report", "tiny.h5", "-o", "tiny.h5"}, 2,
                    "tiny.h5 is a file, and a folder is needed");
  CHECK(run.read("tiny.h5") == before);
}

TEST_CASE("claims and a report are over as many archives as a study has sweeps") {
  const FinishedRun run;
  const std::vector<std::string> archives(40, "tiny.h5");
  for (std::vector<std::string> words : {std::vector<std::string>{"claims", "--set", "lab"},
                                         std::vector<std::string>{"report", "-o", "page"}}) {
    words.insert(words.end(), archives.begin(), archives.end());
    run.said_quietly(words);
  }
}

TEST_CASE("a cell that is unknown or has no result has no trace") {
  const FinishedRun run({"--only", "policy=fcfs"});
  run.check_refused({"trace", "tiny.h5", "2"}, 2, "there is no cell 2; the plan has 2 cells");
  run.check_refused({"trace", "tiny.h5", "0123456789abcdef"}, 2, "no cell has a key");
  run.check_refused({"trace", "tiny.h5", "first"}, 2, "8 or more hex digits");
  run.check_refused({"trace", "tiny.h5", "1"}, 2, "has no result: planned");
}

TEST_CASE("an export has a row for each row of the table") {
  const FinishedRun run;
  const auto cells = lines_of(run.said({"export", "tiny.h5", "--table", "cells"}));
  REQUIRE(cells.size() == 3);
  CHECK_THAT(cells[0], StartsWith("cell,key,label,status,"));
  CHECK_THAT(cells[1], Contains(",ok,"));
  CHECK(lines_of(run.said({"export", "tiny.h5", "--table", "jobs"})).size() == 1 + 2 * 3);
  const auto jobs = lines_of(run.said(
      {"export", "tiny.h5", "--table", "jobs", "--format", "jsonl", "--only", "policy=continuum"}));
  REQUIRE(jobs.size() == 3);
  for (const std::string& line : jobs) CHECK(json::parse(line)["cell"] == 1);
  for (const std::string table : {"turns", "steps", "sched", "kv_events"}) {
    const auto lines =
        lines_of(run.said({"export", "tiny.h5", "--table", table, "--format", "jsonl"}));
    INFO(table);
    CHECK(lines.size() > 10);
    CHECK(std::ranges::all_of(lines, [](const auto& line) { return json::accept(line); }));
  }
}

TEST_CASE("an export into a file appears complete, and says nothing") {
  const FinishedRun run;
  auto names = run.names_in(".");
  CHECK(run.said({"export", "tiny.h5", "--table", "jobs", "-o", "jobs.csv"}).empty());
  CHECK(run.read("jobs.csv") == run.said({"export", "tiny.h5", "--table", "jobs"}));
  names.insert(std::ranges::lower_bound(names, "jobs.csv"), "jobs.csv");
  CHECK(run.names_in(".") == names);
}

TEST_CASE("tables and formats that do not exist are refused with those that do") {
  const FinishedRun run;
  run.check_refused({"export", "tiny.h5", "--table", "rows"}, 2, "cells, jobs, turns, steps");
  run.check_refused({"export", "tiny.h5"}, 2, "export needs --table");
  run.check_refused({"export", "tiny.h5", "--table", "jobs", "--format", "xml"}, 2,
                    "csv, jsonl, aiperf or vllm-bench");
  run.check_refused({"table", "tiny.h5", "--format", "xml"}, 2, "text or csv");
  run.check_refused({"table", "tiny.h5", "--metric", "speed"}, 2, "jct_wall_mean_s");
}

TEST_CASE("a comparison names what it divides, and refuses what it must not compare") {
  const FinishedRun run;
  const auto lines = lines_of(run.said({"compare", "tiny.h5", "--by", "policy,jps"}));
  CHECK_THAT(lines.at(2), StartsWith("continuum") && Contains("fcfs"));
  run.check_refused({"compare", "tiny.h5", "--by", "jps"}, 2,
                    "no two cells differ in jps and agree in the rest");
  run.check_refused({"compare", "tiny.h5", "--by", "policy", "--base", "jps=3"}, 2, "--base");
}

TEST_CASE("a fit says what steps take, of one card and model") {
  const FinishedRun run;
  const std::string fit = run.said({"fit", "tiny.h5", "--only", "policy=fcfs"});
  CHECK_THAT(fit, StartsWith("MODELLED (sim): ") && Contains("llama-3.1-8b on h100-80gb"));
  CHECK_THAT(fit, Contains("us x scheduled tokens") && Contains("ns x KV tokens read"));
  CHECK_THAT(fit, !Contains("[measured]"));  // a simulator's steps are no measurement
  run.check_refused({"twin", "tiny.h5"}, 2, "tiny.h5 has no measured result");
}

TEST_CASE("a fit over two cards, or over nothing, is refused") {
  Program program;
  std::string sweep = support::kTinySweep;
  const std::string card = "\"h100-80gb\"";
  sweep.replace(sweep.find(card), card.size(), card + ", \"h200-141gb\"");
  program.write("two.toml", sweep);
  REQUIRE(
      program.run({"run", "two.toml", "--archive", "two.h5", "--only", "policy=fcfs"}).exit_code ==
      0);
  CHECK_THAT(program.run({"fit", "two.h5"}).err,
             Contains("fit needs cells of one gpu, found h100-80gb, h200-141gb"));
  CHECK_THAT(program.run({"fit", "two.h5", "--only", "policy=continuum"}).err,
             Contains("found none with a result"));
}

TEST_CASE("repeats give a comparison its interval, and a table its spread") {
  Program program;
  program.write("tiny.toml", std::string(support::kTinySweep) + "[repeat]\nn = 3\n");
  REQUIRE(program.run({"run", "tiny.toml"}).exit_code == 0);
  const Outcome compared =
      program.run({"compare", "tiny.h5", "--by", "policy,jps", "--format", "csv"});
  CHECK_THAT(lines_of(compared.out).at(1), Contains(",3"));
  CHECK_THAT(lines_of(compared.out).at(1), !Contains(",,"));
  CHECK_THAT(program.run({"table", "tiny.h5"}).out, Contains(" +- "));
}

TEST_CASE("a table says that simulated figures are modelled") {
  const FinishedRun run;
  const std::string table = run.said({"table", "tiny.h5"});
  CHECK_THAT(table, StartsWith("h100-80gb: jct_wall_mean_s [s], MODELLED (sim, measured)\n"));
  CHECK_THAT(table, Contains("*") && Contains("/ fcfs") && !Contains("published"));
}

TEST_CASE("a plan knows which cells of an archive are done, and why the others will run") {
  const FinishedRun run({"--only", "policy=fcfs"});
  const auto planned = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {"plan", "tiny.toml", "--archive", "tiny.h5", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return json::parse(run.said(words))["cells"];
  };
  const json same = planned({});
  CHECK(same[0]["why"] == "done");
  CHECK(same[0]["runs"] == false);
  CHECK(same[0]["estimated"] == false);
  CHECK(same[1]["why"] == "not run yet");
  CHECK(same[1]["runs"] == true);
  const json changed = planned({"--set", "engine.block_size=32", "--set", "workload.jobs=4"});
  CHECK(changed[0]["why"] == "changed: engine.block_size 16 -> 32, workload.jobs 3 -> 4");
  CHECK(changed[0]["runs"] == true);
  CHECK(planned({"--set", "policy=job_fcfs"})[0]["why"] == "not in the archive");
  CHECK_THAT(run.said({"plan", "tiny.toml", "--archive", "tiny.h5"}),
             Contains("done") && !Contains("host tier"));
}

TEST_CASE("a plan names at most three of the changed fields") {
  const FinishedRun run;
  const std::string plan = run.said({"plan", "tiny.toml", "--archive", "tiny.h5", "--set",
                                     "engine.block_size=32", "--set", "workload.jobs=4", "--set",
                                     "workload.gap_s=2", "--set", "workload.seed=7"});
  CHECK_THAT(plan, Contains("changed: engine.block_size 16 -> 32, workload.gap_s 1 -> 2, "
                            "workload.jobs 3 -> 4 and 1 more"));
  CHECK_THAT(plan, Contains("In the archive 2 results are kept from another setting.\n"));
}

TEST_CASE("a plan refuses the archive of another sweep") {
  const FinishedRun run;
  std::string other = support::kTinySweep;
  other.replace(other.find("\"tiny\""), 6, "\"vast\"");
  run.write("vast.toml", other);
  run.check_refused({"plan", "vast.toml", "--archive", "tiny.h5"}, 5,
                    "holds the sweep \"tiny\", not \"vast\"");
}

TEST_CASE("an output that cannot be written there is a wrong argument, and nothing is left") {
  const FinishedRun run;
  run.check_refused(
      {"export", "tiny.h5", "--table", "cells", "--format", "csv", "-o", "missing/x.csv"}, 2,
      "cannot write missing/x.csv: No such file or directory");
  run.check_refused({"export", "tiny.h5", "--table", "cells", "--format", "csv", "-o", "."}, 2,
                    "cannot write .");
  CHECK_FALSE(run.exists("missing"));
}
