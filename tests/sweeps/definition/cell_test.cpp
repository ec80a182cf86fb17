#include "sweeps/definition/cell.hpp"

#include <algorithm>
#include <random>
#include <set>

#include "sweeps/definition/assignment.hpp"
#include "sweeps/definition/canonical_json.hpp"
#include "sweeps/definition/selection.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"
#include "tests/sweeps/messages.hpp"

using namespace sweep;

namespace {

/// lmcache and cpu_offload have a host tier, continuum has pins.
bool counts(const ParamMap& params, const std::string& key) {
  const auto policy = params.find("policy");
  if (policy == params.end()) return false;
  const std::string name = std::get<std::string>(policy->second.value);
  return key == "policy.ttl_s" ? name == "continuum" : name == "lmcache" || name == "cpu_offload";
}

Scope scope(std::string_view key) {
  if (key == "dram_gib") return Scope::some_cells;
  return key.starts_with("policy.") ? Scope::some_cells_or_named : Scope::all_cells;
}

std::string label(const Cell& cell) {
  return to_text(cell.axes) + (cell.repeat > 0 ? " repeat=" + std::to_string(cell.repeat) : "");
}

std::vector<Cell> cells_of(const std::string& body) {
  return expand(parse_spec("schema = 1\nsweep.name = \"s\"\n" + body, "m.toml"), {scope, counts});
}

std::vector<std::string> labels(const std::vector<Cell>& cells) {
  std::vector<std::string> texts;
  for (const Cell& cell : cells) texts.push_back(label(cell));
  return texts;
}

std::vector<int> selected(const std::vector<Cell>& cells, const std::vector<std::string>& only,
                          const std::vector<std::string>& skip = {}) {
  const Selection selection(cells, only, skip);
  std::vector<int> indices;
  for (const Cell& cell : cells) {
    if (selection.contains(cell)) indices.push_back(cell.index);
  }
  return indices;
}

constexpr char kSmall[] = "[axes]\npolicy = [\"fcfs\", \"lmcache\"]\njps = [1, 3]\n";

constexpr char kMatrix[] = R"([axes]
gpu      = ["h100-80gb", "a100-40gb", "h200-141gb"]
policy   = ["fcfs", "continuum", "cpu_offload", "lmcache"]
jps      = [1, 3, 6, 10]
dram_gib = [16, 128]
)";

}  // namespace

TEST_CASE("cells are the cross product in the order written, the last axis fastest") {
  CHECK(labels(cells_of(kSmall)) ==
        std::vector<std::string>{"policy=fcfs jps=1", "policy=fcfs jps=3", "policy=lmcache jps=1",
                                 "policy=lmcache jps=3"});
}

TEST_CASE("a sweep without axes is one cell") {
  const std::vector<Cell> cells = cells_of("policy = \"fcfs\"\n");
  REQUIRE(cells.size() == 1);
  CHECK(cells[0].params.size() == 1);
  CHECK(cells[0].seed == 42);
}

TEST_CASE("repeats are innermost and count the seed up") {
  const std::vector<Cell> cells = cells_of("[axes]\njps = [1, 3]\n[repeat]\nn = 2\nseed = 10\n");
  CHECK(labels(cells) ==
        std::vector<std::string>{"jps=1", "jps=1 repeat=1", "jps=3", "jps=3 repeat=1"});
  CHECK(cells[3].index == 3);
  CHECK(cells[3].repeat == 1);
  CHECK(cells[3].seed == 11);
}

TEST_CASE("the matrix of three cards, four policies, four rates and two tiers has 72 cells") {
  const std::vector<Cell> cells = cells_of(kMatrix);
  CHECK(cells.size() == 72);
  for (const Cell& cell : cells)
    CHECK(cell.params.contains("dram_gib") == counts(cell.params, "dram_gib"));
}

TEST_CASE("the tier axis collapses where it stands, also when it is not the last") {
  CHECK(labels(cells_of("[axes]\ndram_gib = [16, 128]\npolicy = [\"fcfs\", \"lmcache\"]\n")) ==
        std::vector<std::string>{"policy=fcfs", "dram_gib=16 policy=lmcache",
                                 "dram_gib=128 policy=lmcache"});
}

TEST_CASE("excluded cells stay in the plan with the first reason that applies") {
  const std::vector<Cell> cells = cells_of(std::string(kSmall) + R"(
[[exclude]]
policy = "lmcache"
jps = [3, 1]
reason = "too slow"
[[exclude]]
jps = 3
reason = "never"
)");
  REQUIRE(cells.size() == 4);
  CHECK(cells[0].status == CellStatus::planned);
  CHECK(cells[1].reason == "never");
  CHECK(cells[2].status == CellStatus::excluded);
  CHECK(cells[3].reason == "too slow");
}

TEST_CASE("overrides apply after the cross product, the later over the earlier") {
  const std::vector<Cell> cells = cells_of(std::string(kSmall) + R"(
[engine]
budget = 1
[[override]]
policy = "lmcache"
engine.budget = 2
engine.extra = "x"
[[override]]
jps = 3.0
engine.budget = 3
)");
  CHECK(cells[0].params.at("engine.budget").value == Value(std::int64_t{1}));
  CHECK(cells[1].params.at("engine.budget").value == Value(std::int64_t{3}));
  CHECK(cells[2].params.at("engine.budget").value == Value(std::int64_t{2}));
  CHECK(cells[3].params.at("engine.budget").value == Value(std::int64_t{3}));
  CHECK(cells[2].params.contains("engine.extra"));
  CHECK_FALSE(cells[1].params.contains("engine.extra"));
}

TEST_CASE("includes are appended, with lists, overrides and parameters of their own") {
  const std::vector<Cell> cells = cells_of(std::string(kSmall) + R"(
[[include]]
policy = "fcfs"
jps = [15, 20]
engine.x = 1
[[override]]
jps = 20
engine.y = 2
)");
  CHECK(labels(cells) == std::vector<std::string>{"policy=fcfs jps=1", "policy=fcfs jps=3",
                                                  "policy=lmcache jps=1", "policy=lmcache jps=3",
                                                  "policy=fcfs jps=15", "policy=fcfs jps=20"});
  CHECK(cells[4].params.contains("engine.x"));
  CHECK(cells[5].params.contains("engine.y"));
}

TEST_CASE("an include brings an excluded cell back and may not repeat a planned one") {
  const std::string exclude = std::string(kSmall) + "[[exclude]]\njps = 3\nreason = \"r\"\n";
  const std::vector<Cell> cells = cells_of(exclude + "[[include]]\npolicy = \"fcfs\"\njps = 3\n");
  REQUIRE(cells.size() == 4);
  CHECK(cells[1].status == CellStatus::planned);
  CHECK(cells[3].status == CellStatus::excluded);
  CHECK(message_of([&] { cells_of(exclude + "[[include]]\npolicy = \"fcfs\"\njps = 1\n"); }) ==
        "m.toml:9:1: [[include]] repeats cell 0: policy=fcfs jps=1");
}

TEST_CASE("a policy's parameter is an axis beside a policy that does not look at it") {
  const auto cells =
      cells_of("[axes]\npolicy = [\"fcfs\", \"continuum\"]\n\"policy.ttl_s\" = [1, 2]\n");
  CHECK(labels(cells) == std::vector<std::string>{"policy=fcfs", "policy=continuum policy.ttl_s=1",
                                                  "policy=continuum policy.ttl_s=2"});
  CHECK_FALSE(cells[0].params.contains("policy.ttl_s"));
}

TEST_CASE("values that an exclude tells apart do not collapse") {
  const auto cells = cells_of(
      "[axes]\npolicy = [\"fcfs\"]\n\"policy.ttl_s\" = [1, 2]\n"
      "[[exclude]]\npolicy = \"fcfs\"\n\"policy.ttl_s\" = 1\nreason = \"r\"\n");
  REQUIRE(cells.size() == 2);
  CHECK(cells[0].status == CellStatus::excluded);
  CHECK(cells[1].status == CellStatus::planned);
}

TEST_CASE("an include gives every axis, but a tier only to policies that have one") {
  const std::string axes = "[axes]\npolicy = [\"fcfs\"]\njps = [1]\ndram_gib = [16]\n[[include]]\n";
  CHECK(message_of([&] { cells_of(axes + "policy = \"fcfs\"\n"); }) ==
        "m.toml:7:1: [[include]] must give every axis; jps is missing");
  CHECK(cells_of(axes + "policy = \"fcfs\"\njps = 5\n").size() == 2);
  CHECK(message_of([&] { cells_of(axes + "policy = \"lmcache\"\njps = 5\n"); }) ==
        "m.toml:7:1: [[include]] must give every axis; dram_gib is missing");
}

TEST_CASE("a plan that nobody could run is refused before it is built") {
  std::string body = "[axes]\n";
  for (int axis = 0; axis < 8; ++axis) {
    body += "a" + std::to_string(axis) + " = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]\n";
  }
  CHECK(message_of([&] { cells_of(body); }) ==
        "m.toml: the axes span 100000000 cells; allowed: 1000000");
}

TEST_CASE("includes and repeats count among the cells that a plan may have") {
  std::string list = "[0";
  for (int i = 1; i < 1000; ++i) list += ", " + std::to_string(i);
  const std::string axes = "[axes]\na = " + list + "]\nb = [0]\n";
  const std::string body = axes + "[[include]]\na = " + list + "]\nb = " + list + "]\n";
  CHECK(message_of([&] { cells_of(body); }) ==
        "m.toml: the axes span 1001000 cells; allowed: 1000000");
  CHECK(message_of([&] { cells_of(axes + "[repeat]\nn = 1001\n"); }) ==
        "m.toml: the axes span 1001000 cells with their repeats; allowed: 1000000");
}

TEST_CASE("the first cell that is not excluded is found without forming the others") {
  std::string list = "[0";
  for (int i = 1; i < 1000; ++i) list += ", " + std::to_string(i);
  const std::string body = "[axes]\na = " + list + "]\nb = " + list +
                           "]\ndram_gib = [1]\n[[exclude]]\na = [0]\nreason = \"x\"\n";
  int asked = 0;
  const auto counting = [&](const ParamMap&, const std::string&) { return ++asked > 0; };
  const auto first = first_planned(parse_spec("schema = 1\nsweep.name = \"s\"\n" + body, "m.toml"),
                                   {scope, counting});
  REQUIRE(first);
  CHECK(label(*first) == "a=1 b=0 dram_gib=1");
  CHECK(asked == 1001);
  const auto none = cells_of(std::string(kSmall) + "[[exclude]]\njps = [1, 3]\nreason = \"x\"\n");
  CHECK(none.size() == 4);
}

TEST_CASE("the number of cells is the product of the axes less what collapses") {
  std::mt19937 random(3);
  const auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
  const std::vector<std::string> policies = {"fcfs", "lmcache", "continuum", "cpu_offload"};
  for (int round = 0; round < support::scaled(200); ++round) {
    const int n_policies = 1 + below(4), n_rates = 1 + below(4), n_tiers = 1 + below(4);
    const int n_repeats = 1 + below(3);
    std::string policy_list, rates, tiers;
    int tiered = 0;
    for (int i = 0; i < n_policies; ++i) {
      policy_list += '"' + policies[static_cast<std::size_t>(i)] + "\", ";
      tiered += i % 2;
    }
    for (int i = 0; i < n_rates; ++i) rates += std::to_string(i) + ", ";
    for (int i = 0; i < n_tiers; ++i) tiers += std::to_string(i) + ", ";
    std::vector<std::string> axes = {"policy = [" + policy_list + "]\n", "jps = [" + rates + "]\n",
                                     "dram_gib = [" + tiers + "]\n"};
    std::shuffle(axes.begin(), axes.end(), random);
    const std::vector<Cell> cells = cells_of("repeat.n = " + std::to_string(n_repeats) +
                                             "\n[axes]\n" + axes[0] + axes[1] + axes[2]);
    const int points = n_rates * ((n_policies - tiered) + tiered * n_tiers);
    REQUIRE(static_cast<int>(cells.size()) == points * n_repeats);
    std::set<std::string> keys;
    for (const Cell& cell : cells) {
      keys.insert(canonical_json(cell.params) + "#" + std::to_string(cell.repeat));
      REQUIRE(&cell == &cells[static_cast<std::size_t>(cell.index)]);
    }
    REQUIRE(keys.size() == cells.size());
  }
}

TEST_CASE("the filters --only and --skip select by any parameter") {
  const std::vector<Cell> cells = cells_of("repeat.n = 2\n" + std::string(kSmall));
  CHECK(selected(cells, {}).size() == 8);
  CHECK(selected(cells, {"policy=fcfs"}) == std::vector<int>{0, 1, 2, 3});
  CHECK(selected(cells, {"policy=fcfs,jps=3"}) == std::vector<int>{2, 3});
  CHECK(selected(cells, {"jps=1,3,policy=lmcache"}) == std::vector<int>{4, 5, 6, 7});
  CHECK(selected(cells, {"policy=fcfs,jps=1", "policy=lmcache,jps=3"}) ==
        std::vector<int>{0, 1, 6, 7});
  CHECK(selected(cells, {"jps=1"}, {"repeat=1", "policy=lmcache"}) == std::vector<int>{0});
}

TEST_CASE("a filter that no cell can match is a slip") {
  const std::vector<Cell> cells = cells_of(kSmall);
  const auto complaint = [&](const std::string& filter) {
    return message_of([&] { selected(cells, {filter}); });
  };
  CHECK(complaint("polcy=fcfs") ==
        "--only: no cell has the key \"polcy\" (did you mean \"policy\"?); cells differ in policy, "
        "jps, "
        "repeat");
  CHECK(complaint("policy=lmcach") ==
        "--only: policy must be one of \"fcfs\", \"lmcache\", found \"lmcach\" (did you mean "
        "\"lmcache\"?)");
  CHECK(complaint("jps=10") == "--only: jps must be one of 1, 3, found 10");
  CHECK(complaint("fcfs") == "--only: expected key=value, found \"fcfs\"");
}
