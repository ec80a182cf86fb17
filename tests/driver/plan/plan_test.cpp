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

TEST_CASE("a policy that the sweep changes is labelled with the change") {
  const driver::Plan plan = plan_of(R"(schema = 1
[sweep]
name = "a"
backend = "sim"
[axes]
gpu = ["h100-80gb"]
policy = ["fcfs", "continuum"]
"policy.order" = ["fcfs", "job_fcfs"]
jps = [1]
[policy]
retention = "pin"
ttl_s = 5
[workload]
kind = "swe_smith_like"
)");
  REQUIRE(plan.cells.size() == 4);
  // The order is an axis and shown beside; continuum pins by itself.
  CHECK(sweep::label(plan.cells[0].cell) ==
        "gpu=h100-80gb policy=fcfs+retention=pin+ttl_s=5 policy.order=fcfs jps=1");
  CHECK(sweep::label(plan.cells[3].cell) ==
        "gpu=h100-80gb policy=continuum+ttl_s=5 policy.order=job_fcfs jps=1");
}
