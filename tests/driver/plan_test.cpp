#include "driver/plan/plan.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"

namespace {

driver::Plan plan_of(const std::string& text) {
  const support::TempDir folder;
  driver::Options options;
  options.profiles = std::string(KVSWEEP_SOURCE_DIR) + "/sweeps";
  return driver::make_plan(folder.write("sweep.toml", text), options);
}

}  // namespace

TEST_CASE("host memory is reserved for cells with a host tier alone") {
  const driver::Plan plan = plan_of(R"(schema = 1
dram_gib = 64
[sweep]
name = "a"
backend = "cuda"
[axes]
gpu = ["h100-80gb"]
policy = ["fcfs", "cpu_offload"]
jps = [1]
[workload]
kind = "swe_smith_like"
)");
  REQUIRE(plan.cells.size() == 2);
  CHECK(driver::host_gib(plan.cells[0]) == 0);
  CHECK(driver::host_gib(plan.cells[1]) == 64);
}
