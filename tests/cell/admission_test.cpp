// What orders and rules of admission are for, on whole cells.
#include <algorithm>

#include "tests/cell/cell.hpp"
#include "tests/cell/tables.hpp"
#include "tests/support/catch.hpp"

using support::Cell;
using support::figure;

namespace {

/// 100 agents on a pool for about 20 contexts.
Cell many_agents(const std::string& policy) {
  Cell cell;
  cell.set("policy", policy).set("jps", 6).set("engine.kv_tokens", 160'000);
  return cell;
}

bool holds_back(const sweep::CellResult& result) {
  const auto& stops = result.steps.values<std::int8_t>("stop_reason");
  return std::ranges::count(stops, static_cast<int>(sweep::StopReason::active_programs)) > 0;
}

}  // namespace

TEST_CASE("programs of a working set find their contexts in the cache, which others lose") {
  const sweep::CellResult all = many_agents("fcfs").run();
  const sweep::CellResult fitting = many_agents("working_set").run();
  CHECK(figure(all, "prefix_hit_rate") < 0.3);
  CHECK(figure(fitting, "prefix_hit_rate") > 0.85);
  CHECK(holds_back(fitting));
  CHECK_FALSE(holds_back(all));
}

TEST_CASE("each rule of admission gets the size of the cell's pool") {
  for (const char* policy : {"thunder", "quota"}) {
    INFO(policy);
    CHECK(holds_back(many_agents(policy).run()));
  }
}

TEST_CASE("to know what jobs have left shortens the mean completion time") {
  Cell cell = many_agents("srpt");
  const double guessed = figure(cell.run(), "jct_wall_mean_s");
  cell.set("policy.remaining_work", "oracle");
  CHECK(figure(cell.run(), "jct_wall_mean_s") < 0.9 * guessed);
}
