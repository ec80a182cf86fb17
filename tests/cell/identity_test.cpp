#include <set>

#include "sweeps/definition/cell.hpp"
#include "tests/cell/cell.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"
#include "tests/workload/trace/trace_text.hpp"

using Catch::Matchers::Contains;
using support::Cell;
using trace_test::one_job;

namespace {

/// The identity of the only cell of a sweep file.
std::string identity_of_file(const std::string& text) {
  const sweep::SweepSpec spec = sweep::parse_spec(text, "sweeps/none.toml");
  const auto cells = sweep::expand(spec, {});
  REQUIRE(cells.size() == 1);
  return sweep::canonical_json(support::bind(cells[0].params, cells[0].seed).identity);
}

Cell replaying(const std::string& path) {
  return Cell().set("workload.kind", "trace").set("workload.path", path);
}

}  // namespace

TEST_CASE("a cell is the same however its settings are written") {
  const std::string as_tables = identity_of_file(R"(schema = 1
gpu = "h100-80gb"
policy = "fcfs"
jps = 3
[sweep]
name = "one"
[engine]
block_size = 32
[workload]
kind = "swe_smith_like"
gap_s = 1
)");
  const std::string as_axes = identity_of_file(R"(schema = 1
workload.gap_s = 1.0
workload.kind = "swe_smith_like"
[sweep]
name = "two"
[axes]
"engine.block_size" = [32]
jps = [3.0]
policy = ["fcfs"]
gpu = ["h100-80gb"]
)");
  CHECK(as_tables == as_axes);
}

TEST_CASE("a default is the same whether it is written or left out") {
  Cell written;
  written.set("engine.block_size", 16)
      .set("engine.kv_tokens", 458'000)
      .set("model", "llama-3.1-8b")
      .set("workload.jobs", 100)
      .set("policy.order", "fcfs")
      .set("sim.cost_model", "measured");
  CHECK(written.identity() == Cell().identity());
}

TEST_CASE("every setting that the result depends on makes another cell") {
  const std::vector<std::pair<std::string, sweep::Value>> changes = {
      {"gpu", std::string("h200-141gb")},
      {"model", std::string("yarn-llama-2-7b")},
      {"policy", std::string("job_fcfs")},
      {"policy.order", std::string("priority")},
      {"jps", 3.5},
      {"sim.cost_model", std::string("published")},
      {"engine.block_size", std::int64_t{32}},
      {"engine.kv_tokens", std::int64_t{100'000}},
      {"engine.max_num_batched_tokens", std::int64_t{4096}},
      {"engine.max_num_seqs", std::int64_t{128}},
      {"engine.max_model_len", std::int64_t{16'000}},
      {"engine.long_prefill_token_threshold", std::int64_t{512}},
      {"engine.reserve_full_sequence", false},
      {"engine.prefix_caching", false},
      {"engine.kv_dtype", std::string("fp8_e4m3")},
      {"workload.kind", std::string("agent8")},
      {"workload.jobs", std::int64_t{99}},
      {"workload.seed", std::int64_t{43}},
      {"workload.gap_s", 2.0},
      {"workload.max_context", std::int64_t{8192}},
      {"workload.window_s", 30.0},
  };
  std::set<std::string> identities = {Cell().identity(), Cell().identity(/*arrival_seed=*/43)};
  for (const auto& [key, value] : changes) {
    INFO(key);
    CHECK(identities.insert(Cell().put(key, value).identity()).second);
  }
  CHECK(identities.insert(Cell().without("jps").set("workload.arrivals", "closed").identity())
            .second);
  CHECK(identities.size() == changes.size() + 3);
}

TEST_CASE("every switch of a pinning policy makes another cell") {
  const auto continuum = [] { return Cell().set("policy", "continuum"); };
  std::set<std::string> identities = {
      continuum().identity(),
      continuum().set("policy.ttl_s", 3).identity(),
      continuum().set("policy.threshold_s", 3).identity(),
      continuum().set("policy.protect_waiting", true).identity(),
      continuum().set("policy.release_on_handoff", true).identity(),
      continuum().set("policy.victim", "latest_job").identity(),
      continuum().set("policy.pressure_victim", "latest_deadline").identity()};
  CHECK(identities.size() == 7);
}

TEST_CASE(
    "a recorded workload is its content: another place is the same cell, another byte is not") {
  const support::TempDir here, there;
  const std::string identity = replaying(here.write("a.jsonl", one_job("a"))).identity();
  CHECK(replaying(there.write("b.jsonl", one_job("a"))).identity() == identity);
  CHECK(replaying(there.write("b.jsonl", one_job("A"))).identity() != identity);
  CHECK_THAT(identity, !Contains(here.path().string()));
  CHECK_THAT(identity, !Contains("jsonl"));
}

TEST_CASE("recorded arrivals count by their content too") {
  const support::TempDir folder;
  const std::string jobs = folder.write("jobs.jsonl", one_job());
  const std::string key = "workload.arrival_trace";
  const auto with_times = [&](const std::string& content) {
    Cell cell = replaying(jobs).set(key, folder.write("other", content));
    return cell.without("jps").set("workload.arrivals", "trace").identity();
  };
  CHECK(with_times("1\n") != with_times("2\n"));
  CHECK(with_times("1\n") != replaying(jobs).identity());
  CHECK_THAT(with_times("1\n"), !Contains(folder.path().string()));
}

TEST_CASE("the identity holds the constants of the cost model") {
  CHECK_THAT(Cell().identity(), Contains("\"sim.constants\""));
  CHECK(Cell().bind().identity.at("sim.constants") !=
        Cell().set("sim.cost_model", "published").bind().identity.at("sim.constants"));
}

TEST_CASE("host memory makes no other cell of a policy without a host tier") {
  CHECK(Cell().set("dram_gib", 16).identity() == Cell().identity());
}

TEST_CASE("what a connector costs a step identifies a cell of its tier where it is not nothing") {
  Cell tiered = Cell().set("policy", "cpu_offload").set("dram_gib", 16);
  const auto free = tiered.identity();
  CHECK(tiered.set("policy.connector_cost_s", 0).identity() == free);
  CHECK(tiered.set("policy.connector_cost_s", 0.02).identity() != free);
  CHECK(tiered.config().engine.tier.schedule_overhead == std::chrono::milliseconds(20));
  CHECK(Cell().set("policy.connector_cost_s", 0.02).identity() == Cell().identity());
}

TEST_CASE("factors on costs identify a cell where they change something") {
  for (const char* key : {"sim.fixed_scale", "sim.token_scale", "sim.tier_scale"}) {
    CAPTURE(key);
    CHECK(Cell().set(key, 1).identity() == Cell().identity());
    const bool matters = std::string(key) != "sim.tier_scale";  // there is no tier
    CHECK((Cell().set(key, 1.06).identity() != Cell().identity()) == matters);
  }
  Cell tiered = Cell().set("policy", "lmcache").set("dram_gib", 16);
  const auto plain = tiered.config();
  const auto scaled = tiered.set("sim.tier_scale", 2).config();
  CHECK(scaled.gpu.link.pinned_h2d_gb_s == plain.gpu.link.pinned_h2d_gb_s / 2);
  CHECK(scaled.engine.tier.save_overhead == 2 * plain.engine.tier.save_overhead);
}
