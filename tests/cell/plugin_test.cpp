// Policies of shared objects, those of tests/plugins.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "tests/cell/cell.hpp"
#include "tests/cell/tables.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/same_results.hpp"
#include "tests/support/shared.hpp"
#include "workers/policies/plugin/library.hpp"

using Catch::Matchers::Contains;
using support::Cell;
using support::crowded;
using support::figure;

namespace {

/// A shared object, or a Python file, as its ending says.
std::string plugin(const std::string& name) {
  return name.ends_with(".py") ? "tests/plugins/" + name : KVSWEEP_TEST_PLUGINS "/" + name + ".so";
}

Cell decided_by(const std::string& name, const std::string& axis) {
  return crowded("fcfs").set(axis, "plugin").set("policy.plugin", plugin(name));
}

/// The cell with the plugin deciding on this axis.
Cell given(Cell cell, const std::string& name, const std::string& axis) {
  return cell.set(axis, "plugin").set("policy.plugin", plugin(name));
}

bool same_tables(const sweep::CellResult& a, const sweep::CellResult& b) {
  const auto left = a.tables(), right = b.tables();
  for (std::size_t i = 0; i < left.size(); ++i)
    if (!sweep::same_results(*left[i], *right[i])) return false;
  return true;
}

bool has_python() { return std::system("python3 -c 'pass' 2> /dev/null") == 0; }

std::string failure(const Cell& cell) {
  try {
    cell.run();
  } catch (const engine::InputError& error) {
    return error.what();
  }
  return "ran";
}

}  // namespace

TEST_CASE("a plugin that orders turns as they come decides what fcfs decides") {
  const sweep::CellResult own = crowded("fcfs").run();
  REQUIRE(own.evictions.rows() > 10);
  CHECK(same_tables(own, decided_by("fcfs_lru", "policy.order").run()));
}

TEST_CASE("a plugin that evicts what was released first decides what partial_first decides") {
  Cell usual = crowded("fcfs").set("policy.eviction", "partial_first");
  usual.set("engine.kv_tokens", 60'000);
  Cell given = decided_by("fcfs_lru", "policy.eviction").set("engine.kv_tokens", 60'000);
  CHECK(same_tables(usual.run(), given.run()));
  // Not because it makes no difference: another rule decides otherwise.
  CHECK_FALSE(same_tables(usual.run(), Cell(usual).set("policy.eviction", "oracle").run()));
}

TEST_CASE("one plugin decides both, with admission and with pins") {
  for (const char* policy : {"fcfs", "continuum"}) {
    Cell usual = crowded(policy);
    usual.set("policy.order", "fcfs").set("policy.eviction", "partial_first");
    usual.set("policy.max_active_programs", 6);
    Cell given = usual;
    given.set("policy.order", "plugin").set("policy.eviction", "plugin");
    given.set("policy.plugin", plugin("fcfs_lru"));
    CHECK(same_tables(usual.run(), given.run()));
  }
}

TEST_CASE("a plugin is told of pins as they come and go: it decides what job_fcfs decides") {
  const sweep::CellResult own = crowded("continuum").run();
  REQUIRE(own.evictions.rows() > 10);
  Cell given = crowded("continuum").set("policy.order", "plugin");
  given.set("policy.plugin", plugin("job_fcfs"));
  CHECK(same_tables(own, given.run()));
  Cell blind = crowded("continuum").set("policy.order", "fcfs");
  CHECK_FALSE(same_tables(own, blind.run()));
}

TEST_CASE("an order whose ranks change with time is asked again at each step") {
  const sweep::CellResult result = decided_by("latest_first", "policy.order").run();
  CHECK(figure(result, "jobs") == 16);
  CHECK_FALSE(same_tables(result, crowded("fcfs").run()));
}

TEST_CASE("what a plugin's functions cost is recorded, and no part of equality") {
  const sweep::CellResult result = decided_by("fcfs_lru", "policy.order").run();
  CHECK(figure(result, "plugin_calls") > 16);
  CHECK(figure(result, "plugin_s") > 0);
  for (const sweep::Figure& each : result.figures) {
    if (each.name == "plugin_s") CHECK(each.is_volatile);
  }
  for (const sweep::Figure& each : crowded("fcfs").run().figures)
    CHECK_FALSE(each.name.text().starts_with("plugin"));
}

TEST_CASE("a plugin's content is part of the cell, and its path is not") {
  const support::TempDir folder;
  const auto copy = [&](const std::string& name, const std::string& to) {
    std::filesystem::copy_file(plugin(name), folder.path() / to);
    return Cell((folder.path() / "sweep.toml").string())
        .set("policy.order", "plugin")
        .set("policy.plugin", to)
        .identity();
  };
  const std::string first = copy("fcfs_lru", "a.so");
  CHECK(first == copy("fcfs_lru", "b.so"));
  CHECK(first != copy("latest_first", "c.so"));
  CHECK_THAT(first, Contains("\"policy.plugin.sha256\":\""));
  CHECK_THAT(first, !Contains("a.so"));
  CHECK_THAT(Cell().identity(), !Contains("plugin"));
}

TEST_CASE("what a Python file imports from its own folder is part of the cell, too") {
  if (!has_python()) SKIP_TEST("needs python3");
  const support::TempDir folder;
  const auto identity = [&](const std::string& imports, const std::string& helper) {
    std::ofstream(folder.path() / "mine.py")
        << imports << "import json\nfrom kvsweep_policy import Policy\n"
        << "class Mine(Policy):\n  def rank_turn(self, waiting, now_ns): return 0\n";
    std::ofstream(folder.path() / "helper.py") << helper;
    return Cell()
        .set("policy.order", "plugin")
        .set("policy.plugin", (folder.path() / "mine.py").string())
        .identity();
  };
  const std::string alone = identity("", "A = 1\n");
  CHECK_THAT(alone, !Contains("imported"));
  CHECK(alone == identity("", "A = 2\n"));
  const std::string with_helper = identity("import helper\n", "A = 1\n");
  CHECK_THAT(with_helper, Contains("\"policy.plugin.imported.sha256\":\""));
  CHECK(with_helper == identity("import helper\n", "A = 1\n"));
  CHECK(with_helper != identity("import helper\n", "A = 2\n"));
}

TEST_CASE("a plugin that cannot be used is refused before anything runs, at its place") {
  const auto refusal = [](const std::string& path) {
    return Cell().set("policy.order", "plugin").set("policy.plugin", path).refusal();
  };
  CHECK_THAT(refusal(plugin("other_version")),
             Contains("cell.toml:6:1: policy.plugin has version 9 of kvsweep_policy.h, this "
                      "program needs version 4"));
  CHECK_THAT(refusal(plugin("no_table")), Contains("has no function kvsweep_policy_table()"));
  CHECK_THAT(refusal("nowhere.so"), Contains("policy.plugin names no file, found \"nowhere.so\""));
  CHECK_THAT(refusal("README.md"), Contains("policy.plugin cannot be loaded: "));
  CHECK_THAT(decided_by("latest_first", "policy.eviction").refusal(),
             Contains("policy.plugin offers no eviction: it lacks the function rank_block ("));
  CHECK_THAT(Cell().set("policy.order", "plugin").refusal(), Contains("policy.plugin"));
  CHECK_THAT(Cell().set("policy.plugin", plugin("fcfs_lru")).refusal(),
             Contains("policy.plugin has no effect here"));
}

TEST_CASE(
    "a plugin that crashes or ends its process while it is loaded is refused with a sentence") {
  const auto refusal = [](const std::string& name) {
    return decided_by(name, "policy.order").refusal();
  };
  CHECK_THAT(refusal("crashes_on_load"),
             Contains("cell.toml") && Contains("policy.plugin ends its process by signal 11 "
                                               "(Segmentation fault) while it is loaded ("));
  CHECK_THAT(refusal("ends_on_load"),
             Contains("policy.plugin ends its process with exit code 3 while it is loaded ("));
}

TEST_CASE("a plugin that never ends to be loaded is refused when its time is over") {
  const auto refusal = [](const std::string& path) -> std::string {
    try {
      const policies::PluginLibrary library(path, std::chrono::milliseconds(300));
    } catch (const engine::InputError& error) {
      return error.what();
    }
    return "loaded";
  };
  CHECK_THAT(refusal(plugin("loops_on_load")), Contains("is not loaded within 0.3 s ("));
  if (!has_python()) SKIP_TEST("needs python3");
  const support::TempDir folder;
  CHECK_THAT(refusal(folder.write("loops.py", "while True: pass\n")),
             Contains("is not loaded within 0.3 s ("));
}

TEST_CASE("shipped rules that are written as a plugin give the tables of the shipped ones") {
  const std::string shipped = GENERATE("shipped", "shipped.py");
  if (shipped == "shipped.py" && !has_python()) SKIP_TEST("needs python3");
  const Cell pins = crowded("continuum");
  const sweep::CellResult pinned = pins.run();
  REQUIRE(pinned.kv_events.rows() > 20);
  CHECK(same_tables(pinned, given(pins, shipped, "policy.retention").run()));

  const Cell admission = crowded("working_set");
  CHECK_FALSE(same_tables(admission.run(), crowded("fcfs").run()));
  CHECK(same_tables(admission.run(), given(admission, shipped, "policy.admission").run()));
}

TEST_CASE("one state of a plugin makes all decisions of a cell, and is told of each turn once") {
  Cell all = crowded("continuum");
  all.set("policy.order", "fcfs");
  Cell one = given(all, "shipped", "policy.retention").set("policy.admission", "plugin");
  all.set("policy.admission", "working_set");
  CHECK(same_tables(all.run(), one.run()));
}

TEST_CASE("a Python class decides what the same rules in C decide") {
  if (!has_python()) SKIP_TEST("needs python3");
  Cell in_c = decided_by("fcfs_lru", "policy.order").set("policy.eviction", "plugin");
  Cell in_python = in_c;
  in_python.set("policy.plugin", plugin("fcfs_lru.py"));
  CHECK(same_tables(in_c.run(), in_python.run()));
}

TEST_CASE("a Python class that fails, or ends its process, fails the cell with what it said") {
  if (!has_python()) SKIP_TEST("needs python3");
  CHECK_THAT(
      failure(decided_by("fails.py", "policy.order")),
      Contains("policy.plugin fails in Python: ZeroDivisionError: ") && Contains("(line 9)"));
  CHECK_THAT(failure(decided_by("fails.py", "policy.eviction")),
             Contains("policy.plugin has a Python process that has ended with exit code 5 ("));
  CHECK_THAT(decided_by("fails.py", "policy.retention").refusal(),
             Contains("policy.plugin offers no retention: it lacks the function retain ("));
  const support::TempDir folder;
  const auto written = [&](const std::string& text) {
    std::ofstream(folder.path() / "mine.py") << text;
    return Cell()
        .set("policy.order", "plugin")
        .set("policy.plugin", (folder.path() / "mine.py").string())
        .refusal();
  };
  CHECK_THAT(written("import nothing_like_this\n"),
             Contains("cell.toml:6:1: policy.plugin fails in Python: ModuleNotFoundError: "));
  CHECK_THAT(written(""),
             Contains("defines 0 subclasses of kvsweep_policy.Policy, must define one"));
}

TEST_CASE("an object that was built with fewer functions offers those that it has") {
  const sweep::CellResult own = crowded("fcfs").run();
  CHECK(figure(given(crowded("fcfs"), "shorter", "policy.order").run(), "jobs") == 16);
  CHECK(own.evictions.rows() > 10);
  CHECK_THAT(decided_by("shorter", "policy.eviction").refusal(),
             Contains("policy.plugin offers no eviction: it lacks the function rank_block ("));
}

TEST_CASE("a decision that takes longer than its limit fails the cell") {
  Cell slow = given(crowded("fcfs"), "slow", "policy.order");
  slow.set("workload.jobs", 1);
  CHECK(failure(slow) == "ran");
  CHECK_THAT(failure(slow.set("policy.plugin_time_limit_s", 0.02)),
             Contains("for one call of rank_turn; policy.plugin_time_limit_s allows 0.02 s"));
  CHECK(failure(slow.set("policy.plugin_time_limit_s", 0)) == "ran");
  CHECK_THAT(Cell().set("policy.plugin_time_limit_s", 2).refusal(), Contains("has no effect here"));
}

TEST_CASE("an answer that makes no sense fails the cell, with the reason") {
  CHECK(failure(decided_by("no_rank", "policy.order"))
            .starts_with("policy.plugin gives turn 2 of job "));
  CHECK_THAT(failure(decided_by("no_rank", "policy.eviction")),
             Contains(" ns, which is not later than now, "));
  CHECK_THAT(failure(decided_by("bad_answers", "policy.eviction")),
             Contains(" no number as its rank (NaN)"));
  CHECK_THAT(failure(decided_by("bad_answers", "policy.order")),
             Contains("policy.plugin preempts turn id 123456789, which is none of the "));
  const auto bad = [](Cell cell, const std::string& axis) {
    return failure(given(std::move(cell), "bad_answers", axis));
  };
  CHECK_THAT(bad(crowded("fcfs"), "policy.admission"),
             Contains("policy.plugin admits program 0 by 3; allowed: 0 and 1"));
  CHECK_THAT(bad(crowded("fcfs"), "policy.retention"),
             Contains("policy.plugin does action 7 with the KV of turn 0 of job "));
}
