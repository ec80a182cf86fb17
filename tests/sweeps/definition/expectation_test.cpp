#include "sweeps/definition/expectation.hpp"

#include "sweeps/tables/result.hpp"
#include "tests/support/catch.hpp"

using namespace sweep;

namespace {

CellResult evicted(const std::vector<std::int32_t>& jobs) {
  std::vector<EvictionRow> rows;
  for (const std::int32_t job : jobs) rows.emplace_back().job = job;
  CellResult result;
  result.evictions = to_table<EvictionRow>(rows);
  return result;
}

}  // namespace

TEST_CASE("a result is held against every line of what is expected") {
  const std::vector<Expectation> once = {{"expect.evictions", 1, {"s.toml", 7, 1}},
                                         {"expect.evicted_job", 1, {"s.toml", 8, 1}}};
  CHECK(unmet(once, evicted({1})).empty());
  CHECK(unmet(once, evicted({})) == "s.toml:7:1: expect.evictions = 1, found 0");
  CHECK(unmet(once, evicted({0})) == "s.toml:8:1: expect.evicted_job = 1, found 0");
  CHECK(unmet(once, evicted({1, 1, 0})) ==
        "s.toml:7:1: expect.evictions = 1, found 3; s.toml:8:1: expect.evicted_job = 1, found 0");
  CHECK(unmet({}, evicted({0, 0})).empty());
}
