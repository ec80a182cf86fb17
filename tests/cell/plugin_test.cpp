// Policies of shared objects, those of tests/plugins.
#include <filesystem>

#include "tests/cell/cell.hpp"
#include "tests/cell/tables.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"

using Catch::Matchers::Contains;
using support::Cell;
using support::crowded;
using support::figure;

namespace {

std::string plugin(const std::string& name) { return KVSWEEP_TEST_PLUGINS "/" + name + ".so"; }

Cell decided_by(const std::string& name, const std::string& axis) {
  return crowded("fcfs").set(axis, "plugin").set("policy.plugin", plugin(name));
}

bool same_tables(const sweep::CellResult& a, const sweep::CellResult& b) {
  const auto left = a.tables(), right = b.tables();
  for (std::size_t i = 0; i < left.size(); ++i)
    if (!sweep::same_results(*left[i], *right[i])) return false;
  return true;
}

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
    CHECK_FALSE(each.name.starts_with("plugin"));
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

TEST_CASE("a plugin that cannot be used is refused before anything runs, at its place") {
  const auto refusal = [](const std::string& path) {
    return Cell().set("policy.order", "plugin").set("policy.plugin", path).refusal();
  };
  CHECK_THAT(refusal(plugin("other_version")),
             Contains("cell.toml:6:1: policy.plugin has version 7 of kvsweep_policy.h, this "
                      "program needs version 1"));
  CHECK_THAT(refusal(plugin("no_table")), Contains("has no function kvsweep_policy_table()"));
  CHECK_THAT(refusal("nowhere.so"), Contains("policy.plugin names no file (nowhere.so)"));
  CHECK_THAT(refusal("README.md"), Contains("policy.plugin cannot be loaded: "));
  CHECK_THAT(decided_by("latest_first", "policy.eviction").refusal(),
             Contains("policy.plugin offers no eviction ("));
  CHECK_THAT(Cell().set("policy.order", "plugin").refusal(), Contains("policy.plugin"));
  CHECK_THAT(Cell().set("policy.plugin", plugin("fcfs_lru")).refusal(),
             Contains("policy.plugin has no effect here"));
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
}
