#include "workers/binding/binding.hpp"

#include "tests/cell/cell.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"
#include "tests/workload/trace/trace_text.hpp"
#include "workers/backends/sim/cost_model.hpp"

using support::Cell;
using worker::ArrivalConfig;

namespace {

template <class Content>
Content content_of(const Cell& cell) {
  return std::get<Content>(cell.config().workload.content);
}

}  // namespace

TEST_CASE("a cell that says little gets the engine defaults of vLLM and the pool of its card") {
  const worker::ExperimentConfig config = Cell().config();
  CHECK(config.backend == "sim");
  CHECK(config.model.name == "llama-3.1-8b");
  CHECK(config.cost_model == "measured");
  CHECK(config.policy_name == "fcfs");
  CHECK(config.engine.scheduler.max_num_batched_tokens == 2048);
  CHECK(config.engine.scheduler.max_num_seqs == 256);
  CHECK(config.engine.scheduler.max_model_len == 16384);
  CHECK(config.engine.scheduler.long_prefill_token_threshold == 0);
  CHECK(config.engine.scheduler.chunked_prefill);
  CHECK(config.engine.scheduler.reserve_full_sequence);
  CHECK(config.engine.kv.block_size == 16);
  CHECK(config.engine.kv.prefix_caching);
  CHECK(config.engine.kv.num_blocks == 458'000 / 16 + 1);  // with the null block
}

TEST_CASE("step times are those that the card was measured with, or else those of kernels") {
  const auto model_of = [](const char* gpu, const char* model) {
    return Cell().set("gpu", gpu).set("model", model).bind().config.cost_model;
  };
  CHECK(model_of("h200-141gb", "llama-3.1-8b") == "measured");
  CHECK(model_of("a100-40gb", "llama-3.1-8b") == "kernels");
  CHECK(model_of("h100-80gb", "qwen2.5-7b") == "kernels");
}

TEST_CASE("a cell that names its cost model is what it was, whatever the card was measured with") {
  CHECK(Cell().set("sim.cost_model", "measured").identity() == Cell().identity());
  CHECK(Cell().set("sim.cost_model", "kernels").identity() != Cell().identity());
}

TEST_CASE("a cell that says little replays 100 generated jobs that arrive by the repeat's seed") {
  const worker::ExperimentConfig config = Cell().config(7);
  const auto& jobs = std::get<workload::SweSmithLikeConfig>(config.workload.content);
  CHECK(jobs.jobs == 100);
  CHECK(jobs.seed == 42);
  CHECK(jobs.gap_s == 1.0);
  CHECK(jobs.max_context == 16384);
  const ArrivalConfig& arrivals = config.workload.arrivals;
  CHECK(arrivals.kind == ArrivalConfig::Kind::poisson);
  CHECK(arrivals.rate_per_s == 3.0);
  CHECK(arrivals.seed == 7);
  CHECK_FALSE(arrivals.window_s);
}

TEST_CASE("the eight-turn agent has defaults of its own") {
  const auto agent = content_of<workload::Agent8Config>(Cell().set("workload.kind", "agent8"));
  CHECK(agent.jobs == 100);
  CHECK(agent.seed == 42);
  CHECK(agent.gap_s == 0.5);
  CHECK_FALSE(agent.tool_hint);
}

TEST_CASE("a trace is replayed whole, in the order of the file, after its recorded gaps") {
  const support::TempDir folder;
  Cell cell;
  cell.set("workload.kind", "trace")
      .set("workload.path", folder.write("t.jsonl", trace_test::one_job()));
  const workload::PlayRules rules = content_of<worker::RecordedTrace>(cell).rules;
  CHECK(rules.pacing == workload::Pacing::think);
  CHECK(rules.unrecorded_gap_s == 0);
  CHECK(rules.max_context == 16384);
  CHECK_FALSE(rules.sessions);
  CHECK(rules.min_turns == 1);
  CHECK_FALSE(rules.max_turns);
  CHECK(rules.order == workload::JobOrder::file);
}

TEST_CASE("max_model_len starts at the model's own limit when that is below 16384") {
  const auto config = Cell().set("model", "opt-13b").set("workload.kind", "agent8").config();
  CHECK(config.engine.scheduler.max_model_len == config.model.max_context);
  CHECK(config.model.max_context == 2048);
  const auto jobs =
      content_of<workload::SweSmithLikeConfig>(Cell().set("engine.max_model_len", 8192));
  CHECK(jobs.max_context == 8192);
}

TEST_CASE("a policy is its profile") {
  const policies::PolicyConfig fcfs = Cell().config().policy;
  CHECK(fcfs.order == "fcfs");
  CHECK(fcfs.retention == "free");
  CHECK(Cell().set("policy", "job_fcfs").config().policy.order == "job_fcfs");

  const policies::PolicyConfig continuum = Cell().set("policy", "continuum").config().policy;
  CHECK(continuum.order == "job_fcfs");
  CHECK(continuum.retention == "pin");
  CHECK(std::get<double>(continuum.parameters.at("ttl_s")) == 2);
  CHECK(std::get<double>(continuum.parameters.at("threshold_s")) == 2);
  CHECK(std::get<std::string>(continuum.parameters.at("victim")) == "last_unpinned");
  CHECK_FALSE(continuum.pins.protect_waiting);
  CHECK(continuum.pins.pressure_victim == engine::PressureVictim::latest_job);

  const policies::PolicyConfig preview = Cell().set("policy", "continuum_preview").config().policy;
  CHECK(std::get<std::string>(preview.parameters.at("victim")) == "latest_job");
  CHECK(preview.pins.protect_waiting);
  CHECK(preview.pins.pressure_victim == engine::PressureVictim::latest_deadline);
}

TEST_CASE("a sweep overrides single values of a policy's profile and keeps the others") {
  Cell cell;
  cell.set("policy", "continuum").set("policy.ttl_s", 3.5).set("policy.protect_waiting", true);
  const policies::PolicyConfig policy = cell.config().policy;
  CHECK(std::get<double>(policy.parameters.at("ttl_s")) == 3.5);
  CHECK(policy.pins.protect_waiting);
  CHECK(std::get<double>(policy.parameters.at("threshold_s")) == 2);
  CHECK(policy.order == "job_fcfs");
}

TEST_CASE("kv_tokens replaces the card's pool, in whole blocks") {
  CHECK(Cell().set("engine.kv_tokens", 100'015).config().engine.kv.num_blocks == 6250 + 1);
  CHECK(Cell()
            .set("engine.kv_tokens", 100'000)
            .set("engine.block_size", 32)
            .config()
            .engine.kv.num_blocks == 3125 + 1);
}

TEST_CASE("a pool smaller than one sequence makes the cell infeasible, with both numbers") {
  const std::string reason = Cell().set("engine.kv_tokens", 16'383).obstacle();
  CHECK_THAT(reason, Catch::Matchers::StartsWith("infeasible: "));
  CHECK_THAT(reason, Catch::Matchers::Contains("h100-80gb"));
  CHECK_THAT(reason, Catch::Matchers::Contains("holds 16368 tokens in whole blocks"));
  CHECK_THAT(reason, Catch::Matchers::Contains("16384"));
  CHECK(Cell().set("engine.kv_tokens", 16'384).obstacle() == "runs");
  CHECK(Cell().set("engine.kv_tokens", 16'383).set("engine.max_model_len", 16'000).obstacle() ==
        "runs");
}

TEST_CASE("asynchronous scheduling is part of what a cell is only where it is on") {
  CHECK_FALSE(Cell().config().engine.async_scheduling);
  CHECK(Cell().set("engine.async_scheduling", false).identity() == Cell().identity());
  const Cell async = Cell().set("engine.async_scheduling", true);
  CHECK(async.config().engine.async_scheduling);
  CHECK_THAT(async.identity(), Catch::Matchers::Contains("\"engine.async_scheduling\":true"));
  CHECK(async.config().gpu.kernels.step_overhead_us == 0);
}

TEST_CASE("a host tier under vllm-0.33 is that of its connector, asynchronously too") {
  Cell newest = Cell().set("policy", "cpu_offload").set("dram_gib", 16);
  newest.set("engine.scheduler", "vllm-0.33").set("engine.async_scheduling", true);
  const engine::TierConfig prompts = newest.config().engine.tier;
  CHECK(prompts.kind == engine::TierKind::offload);
  CHECK(prompts.store_mode == engine::StoreMode::prompt);
  CHECK(newest.obstacle() == "runs");
  newest.set("policy.store", "all").set("policy.host_eviction", "arc");
  CHECK(newest.config().engine.tier.store_mode == engine::StoreMode::all);
  CHECK(newest.config().engine.tier.arc);
  CHECK_THAT(newest.set("policy.store", "eager").refusal(),
             Catch::Matchers::Contains("must be one of \"prompt\", \"all\""));
  Cell older = Cell().set("policy", "cpu_offload").set("dram_gib", 16);
  CHECK(older.config().engine.tier.store_mode == engine::StoreMode::all);
  CHECK_FALSE(older.config().engine.tier.as_v0_26);
  CHECK_THAT(older.set("policy.store", "all").refusal(), Catch::Matchers::Contains("\"eager\""));
}

TEST_CASE("KV of fp8 has half the bytes in pool, host memory and on disk, and costs half to read") {
  const auto offload = [] {
    Cell cell = Cell().set("policy", "cpu_offload").set("dram_gib", 16).set("policy.disk_gib", 2);
    return cell.set("gpu", "h200-141gb");
  };
  CHECK(offload().set("engine.kv_dtype", "bf16").identity() == offload().identity());
  const auto wide = offload().config();
  for (const std::string gpu : {"h200-141gb", "a100-sxm-40gb"}) {  // with a published pool; without
    Cell cell = offload().set("gpu", gpu);
    const auto before = cell.config().engine.kv.num_blocks;
    const auto after = cell.set("engine.kv_dtype", "fp8_e4m3").config().engine.kv.num_blocks;
    CHECK(after - 2 * before >= -1);
    CHECK(after - 2 * before <= 1);
  }
  Cell cell = offload().set("engine.kv_dtype", "fp8_e4m3");
  const auto narrow = cell.config();
  CHECK(2 * narrow.bytes_per_block == wide.bytes_per_block);
  CHECK(2 * narrow.link.bytes_per_block == wide.link.bytes_per_block);
  CHECK(2 * narrow.disk.bytes_per_block == wide.disk.bytes_per_block);
  CHECK(narrow.engine.tier.host_blocks == 2 * wide.engine.tier.host_blocks);
  CHECK(narrow.engine.tier.disk_blocks == 2 * wide.engine.tier.disk_blocks);
  CHECK(cell.set("engine.kv_tokens", 80'000).config().engine.kv.num_blocks == 5'001);
  for (const std::string name : {"kernels", "measured"}) {
    const auto read = [&](const worker::ExperimentConfig& config) {
      const auto model = backends::make_cost_model(name, config.gpu, config.model);
      const backends::StepShape near = {.tokens = 1, .decodes = 1};
      backends::StepShape far = near;
      far.decode_context_tokens = 1'000'000;
      return engine::to_seconds(model->step_time(far) - model->step_time(near));
    };
    CHECK(read(narrow) == Approx(read(wide) / 2));
  }
  const Cell on_card = Cell().on("cuda").set("engine.kv_dtype", "fp8_e4m3");
  CHECK(on_card.config().model.fp8_kv);
  CHECK_THAT(Cell(on_card).set("engine.prefill_attention", "contiguous").refusal(),
             Catch::Matchers::Contains("engine.prefill_attention must be \"paged\" with"));
  CHECK_THAT(Cell(cell).set("sim.server", "vllm 0.26").refusal(),
             Catch::Matchers::Contains("engine.kv_dtype must be \"bf16\" with sim.server"));
}

TEST_CASE("a disk of no size is none, and its keys leave the identity of other cells as it was") {
  const auto offload = [] { return Cell().set("policy", "cpu_offload").set("dram_gib", 16); };
  CHECK(offload().set("policy.disk_gib", 0).identity() == offload().identity());
  const Cell disk = offload().set("policy.disk_gib", 2).set("sim.disk_latency_us", 50);
  CHECK(disk.config().engine.tier.disk_blocks * disk.config().bytes_per_block == 2LL << 30);
  CHECK((disk.config().disk.read_gb_s == 6.8 && disk.config().disk.latency_us == 50));
  CHECK_THAT(disk.identity(), Catch::Matchers::Contains("\"policy.disk_gib\":2"));
  CHECK(offload().set("policy.disk_gib", 2).set("sim.disk_queue", 32).identity() ==
        offload().set("policy.disk_gib", 2).identity());
}

TEST_CASE("tiers that are not offload's have no disk behind them, whatever the sweep asks for") {
  for (const std::string policy : {"swap", "lmcache"}) {
    const Cell plain = Cell().set("policy", policy).set("dram_gib", 16);
    const Cell asked = Cell(plain).set("policy.disk_gib", 2);
    CHECK(asked.config().engine.tier.disk_blocks == 0);
    CHECK(asked.identity() == plain.identity());
  }
}

TEST_CASE("a simulated vLLM 0.26 has its connector and hands out blocks without content first") {
  Cell cell = Cell().set("gpu", "h200-141gb").set("policy", "cpu_offload").set("dram_gib", 16);
  cell.set("sim.server", "vllm 0.26").set("engine.async_scheduling", true);
  const auto& engine = cell.config().engine;
  CHECK(engine.tier.as_v0_26);
  CHECK(engine.tier.store_mode == engine::StoreMode::prompt);
  CHECK(engine.kv.partial_blocks_first);
  CHECK_FALSE(cell.set("engine.scheduler", "vllm-0.33").config().engine.tier.as_v0_26);
}

TEST_CASE("engine.watermark is a share of the pool with the null block, in whole blocks") {
  Cell cell = Cell().set("engine.scheduler", "vllm-0.33").set("engine.kv_tokens", 160'000);
  const auto& engine = cell.set("engine.watermark", 0.01).config().engine;
  CHECK(engine.scheduler.watermark_blocks == 100);  // of 10,001
  CHECK(engine.kv.partial_blocks_first);
}

TEST_CASE("asynchronous scheduling goes with every policy, and what it does not is named") {
  const auto obstacle = [](Cell cell) {
    return cell.set("engine.async_scheduling", true).obstacle();
  };
  const std::string begins = "infeasible: not built yet: engine.async_scheduling with ";
  for (const auto& file : std::filesystem::directory_iterator(support::kProfiles / "policies")) {
    const std::string policy = file.path().stem().string();
    INFO(policy);
    for (const char* scheduler : {"v1", "vllm-0.33"}) {
      if (policy == "contiguous") continue;
      Cell cell = Cell().set("policy", policy).set("engine.scheduler", scheduler);
      CHECK(obstacle(cell.set("dram_gib", 16)) == "runs");
    }
  }
  CHECK(obstacle(Cell().set("policy.eviction", "slru")) == "runs");
  const std::string by_tokens =
      "a scheduler of vLLM 0.4.2 or policy.layout \"contiguous\", which decide by the tokens of "
      "the "
      "step before";
  const Cell whole = Cell().set("engine.max_num_batched_tokens", 16'384);
  CHECK(obstacle(Cell(whole).set("policy", "contiguous")) == begins + by_tokens);
  CHECK(obstacle(Cell(whole).set("engine.scheduler", "mixed")) == begins + by_tokens);
  CHECK(obstacle(Cell().on("cuda")) == "runs");
  Cell logged;
  logged.on("cuda").set("record.access_log", true);
  CHECK(obstacle(logged) ==
        begins + "record.access_log on backend cuda, whose log follows one step at a time");
  CHECK_THROWS_AS(logged.set("engine.async_scheduling", true).bind(), worker::NotBuilt);
}

TEST_CASE("a pool that cannot fit into the card's memory beside the weights is infeasible on it") {
  Cell cell;
  cell.on("cuda").set("engine.kv_tokens", 530'000);
  const std::string reason = cell.obstacle();
  CHECK_THAT(reason,
             Catch::Matchers::StartsWith("infeasible: a KV pool of 530000 tokens (65 GiB)"));
  CHECK_THAT(reason, Catch::Matchers::Contains("llama-3.1-8b (15 GiB)"));
  CHECK_THAT(reason, Catch::Matchers::Contains("the 80 GiB of h100-80gb"));
  CHECK(cell.set("engine.kv_tokens", 520'000).obstacle() == "runs");
  CHECK(cell.on("sim").set("engine.kv_tokens", 5'300'000).obstacle() == "runs");
}

TEST_CASE("a policy with a host tier has the blocks that fit into host memory") {
  using engine::TierKind;
  for (const auto& [policy, kind] :
       {std::pair("cpu_offload", TierKind::offload), std::pair("lmcache", TierKind::lmcache)}) {
    INFO(policy);
    const Cell without = Cell().set("policy", policy);
    CHECK(without.refusal() == "cell.toml: the key \"dram_gib\" is missing: policy \"" +
                                   std::string(policy) +
                                   "\" keeps KV in host memory, whose size must be given");
    const Cell cell = Cell(without).set("dram_gib", 16);
    const engine::TierConfig tier = cell.config().engine.tier;
    CHECK(tier.kind == kind);
    CHECK(tier.host_blocks == 8192);  // of 16 tokens, 128 KiB each
    CHECK(cell.identity() != Cell(without).set("dram_gib", 32).identity());
    CHECK(support::key_rules().counts(cell.params(), "dram_gib"));
  }
}

TEST_CASE("policies without a host tier have none") {
  for (const std::string policy : {"fcfs", "job_fcfs", "continuum", "continuum_preview"}) {
    const Cell cell = Cell().set("policy", policy);
    CHECK_FALSE(support::key_rules().counts(cell.params(), "dram_gib"));
    CHECK(cell.config().engine.tier.kind == engine::TierKind::none);
  }
}

TEST_CASE("a closed batch and recorded arrivals need no rate") {
  const Cell closed = Cell().without("jps").set("workload.arrivals", "closed");
  CHECK(closed.config().workload.arrivals.kind == ArrivalConfig::Kind::closed);

  const support::TempDir folder;
  const std::string trace = folder.write("arrivals.txt", "0.5\n");
  Cell traced = Cell().without("jps").set("workload.arrivals", "trace");
  traced.set("workload.arrival_trace", trace);
  CHECK(traced.config().workload.arrivals.kind == ArrivalConfig::Kind::trace);
  CHECK(traced.config().workload.arrivals.trace_path == trace);
}

TEST_CASE("relative paths count from the sweep file, and from here on the command line") {
  const support::TempDir folder;
  folder.write("t.jsonl", trace_test::one_job());
  Cell in_file((folder.path() / "cell.toml").string());
  in_file.set("workload.kind", "trace").set("workload.path", "t.jsonl");
  CHECK(content_of<worker::RecordedTrace>(in_file).path == (folder.path() / "t.jsonl").string());

  sweep::ParamMap on_command_line = in_file.params();
  on_command_line["workload.path"] = {std::string("./CMakeLists.txt"), {"--set", 0, 0}};
  on_command_line["workload.kind"].value = std::string("lengths");
  on_command_line.erase("jps");
  const auto bound = support::bind(on_command_line);
  const auto& list = std::get<workload::RequestListConfig>(bound.config.workload.content);
  CHECK(std::get<workload::SizeFile>(list.sizes).path == "CMakeLists.txt");
}
