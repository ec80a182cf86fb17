#include "driver/plan/plan.hpp"

#include <filesystem>
#include <sstream>

#include "driver/plan/report.hpp"
#include "sweeps/definition/canonical_json.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"
#include "tests/sweeps/messages.hpp"
#include "workers/cell/execution.hpp"

using Catch::Matchers::Contains;

namespace {

driver::Plan plan_of(const std::string& text, driver::Options options = {}) {
  const support::TempDir folder;
  options.profiles = std::filesystem::path(KVSWEEP_SOURCE_DIR) / "sweeps";
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
  CHECK(plan.cells[0].repeats->host_gib == 0);
  CHECK(plan.cells[1].repeats->host_gib == 64);
}

TEST_CASE("host memory is reserved for servers that are told of it") {
  if (!worker::can_reach_servers()) SKIP_TEST("this build has no libcurl");
  const driver::Plan plan = plan_of(R"(schema = 1
[sweep]
name = "a"
backend = "server"
[axes]
gpu = ["h100-80gb"]
jps = [1]
dram_gib = [64]
"server.profile" = ["stock", "offload"]
[server]
kind = "vllm"
version = "1"
model = "m"
command = "vllm serve {model} --port {port} --max-num-seqs {engine.max_num_seqs} {server.flags}"
[server.profile.stock]
flags = ""
[server.profile.offload]
flags = "--kv-offloading-size {dram_gib}"
[workload]
kind = "swe_smith_like"
)");
  REQUIRE(plan.cells.size() == 2);
  CHECK(plan.cells[0].repeats->host_gib == 0);
  CHECK(plan.cells[1].repeats->host_gib == 64);
}

TEST_CASE("a sweep of servers is planned where libcurl is, and else refused in one sentence") {
  const std::string text = R"(schema = 1
[sweep]
name = "a"
backend = "server"
[axes]
gpu = ["h100-80gb"]
jps = [1]
[server]
kind = "openai"
version = "1"
url = "http://host:8000"
reset = "none"
[workload]
kind = "swe_smith_like"
)";
  std::string refusal;
  try {
    const driver::Plan plan = plan_of(text);
    CHECK(plan.cells.front().runs());
  } catch (const sweep::SpecError& error) {
    refusal = error.what();
  }
  CHECK(refusal.empty() == worker::can_reach_servers());
  if (refusal.empty()) return;
  CHECK_THAT(refusal, Contains("sweep.toml:4:1: sweep.backend is \"server\", which needs libcurl"));
  driver::Options options;
  options.backend = "server";
  CHECK_THROWS_WITH(plan_of(text, options), Contains("--backend is \"server\", which needs"));
}

TEST_CASE("a policy that the sweep changes is labeled with the change") {
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
  CHECK(worker::label(plan.cells[0].cell) ==
        "gpu=h100-80gb policy=fcfs+retention=pin+ttl_s=5 policy.order=fcfs jps=1");
  CHECK(worker::label(plan.cells[3].cell) ==
        "gpu=h100-80gb policy=continuum+ttl_s=5 policy.order=job_fcfs jps=1");
}

TEST_CASE("the value that a policy has anyway is no change, whole or with a point") {
  const driver::Plan plan = plan_of(R"(schema = 1
[sweep]
name = "a"
backend = "sim"
[axes]
gpu = ["h100-80gb"]
policy = ["continuum"]
jps = [1]
[policy]
ttl_s = 2
threshold_s = 2.0
[workload]
kind = "swe_smith_like"
)");
  CHECK(worker::label(plan.cells.at(0).cell) == "gpu=h100-80gb policy=continuum jps=1");
}

TEST_CASE("a pool of another card stands in a cell's name, once, whether it is an axis or not") {
  const auto label_of = [](const std::string& rest) {
    const driver::Plan plan = plan_of(
        "schema = 1\nsweep.name = \"a\"\nsweep.backend = \"sim\"\n"
        "policy = \"fcfs\"\nworkload.kind = \"swe_smith_like\"\n" +
        rest);
    return worker::label(plan.cells.back().cell);
  };
  const std::string axes = "[axes]\ngpu = [\"h100-80gb\"]\njps = [1]\n";
  CHECK(label_of("engine.emulate = \"a100-40gb\"\nrepeat.n = 2\n" + axes) ==
        "gpu=h100-80gb jps=1 engine.emulate=a100-40gb repeat=1");
  CHECK(label_of(axes + "\"engine.emulate\" = [\"a100-40gb\"]\n") ==
        "gpu=h100-80gb jps=1 engine.emulate=a100-40gb");
  CHECK(label_of("gpu = \"h100-80gb\"\njps = 1\nengine.emulate = \"a100-40gb\"\n") ==
        "engine.emulate=a100-40gb");
}

TEST_CASE("a plan expects of a server's profile what its policy takes, and the starts of servers") {
  if (!worker::can_reach_servers()) SKIP_TEST("this build has no libcurl");
  const auto report = [](const driver::Plan& plan) { return report_plan(plan, {}); };
  driver::Options options;
  options.profiles = std::filesystem::path(KVSWEEP_SOURCE_DIR) / "sweeps";
  options.only = {"gpu=h100-80gb,a100-40gb,jps=3,10"};
  const std::string matrix =
      (options.profiles / "experiments/servers/vllm-matrix-72.toml").string();
  const driver::Plan plan = driver::make_plan(matrix, options);
  const driver::PlanReport once = report(plan);
  CHECK(once.starts == 10);  // of stock, and of two profiles with two sizes, on two cards
  double served_s = 0, busy_s = 0, stock_s = 0, large_s = 0;
  for (const driver::PlanLine& line : once.lines) {
    if (!line.runs) continue;
    served_s += line.served_s;
    busy_s += line.busy_s;
    const std::string label = worker::label(line.cell->cell);
    if (label == "gpu=h100-80gb policy=stock jps=10") stock_s = line.served_s;
    if (label == "gpu=h100-80gb policy=offload jps=10 dram_gib=128") large_s = line.served_s;
  }
  CHECK(busy_s - served_s == Approx(once.starts_s));
  CHECK(once.starts_s > 10 * 60);
  CHECK(large_s < stock_s / 2);  // all contexts stay in host memory
  options.set = {"server.reset=restart"};
  const driver::Plan afresh = driver::make_plan(matrix, options);
  CHECK(report(afresh).starts == 20);
}

TEST_CASE("the repeats of a cell are bound once, and each is what it would be alone") {
  const driver::Plan plan = plan_of(R"(schema = 1
[sweep]
name = "a"
backend = "sim"
[axes]
gpu = ["h100-80gb"]
policy = ["fcfs", "continuum"]
jps = [1]
[repeat]
n = 3
[workload]
kind = "swe_smith_like"
)");
  REQUIRE(plan.cells.size() == 6);
  worker::Profiles profiles(std::filesystem::path(KVSWEEP_SOURCE_DIR) / "sweeps");
  for (const driver::PlannedCell& planned : plan.cells) {
    const worker::BoundCell alone =
        worker::bind(planned.cell.params, "sim", planned.cell.seed, profiles);
    CHECK(planned.config_json() == sweep::canonical_json(alone.identity));
    CHECK(planned.config().workload.arrivals.seed == planned.cell.seed);
  }
  CHECK(plan.cells[0].repeats == plan.cells[2].repeats);
  CHECK(plan.cells[2].repeats != plan.cells[3].repeats);
}
