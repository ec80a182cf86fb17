// What a sweep file may say of schedulers, lists of requests and preemption.
#include <algorithm>
#include <fstream>

#include "tests/cell/cell.hpp"
#include "tests/cell/tables.hpp"
#include "tests/support/catch.hpp"

using Catch::Matchers::Contains;
using support::Cell;
using support::figure;

namespace {

/// Twenty requests, all at once.
Cell requests() {
  return Cell().without("jps").set("workload.kind", "zipf").set("workload.seed", 1234);
}

/// More of them than the pool can hold.
Cell on_a_small_pool(const std::string& policy) {
  Cell cell = requests();
  cell.set("policy", policy)
      .set("gpu", "a100-sxm-40gb")
      .set("model", "yarn-llama-2-7b")
      .set("workload.n", 128)
      .set("workload.min", 512)
      .set("workload.prompt_to_output", 0.5)
      .set("engine.scheduler", "prefill_first")
      .set("engine.kv_tokens", 21008)
      .set("engine.max_num_batched_tokens", 8192);
  if (policy != "recompute") cell.set("dram_gib", 64);
  return cell;
}

}  // namespace

TEST_CASE("requests arrive at once, unless arrivals are asked for") {
  const auto arrivals = [](const Cell& cell) {
    return cell.run().jobs.values<double>("t_arrive_s");
  };
  for (const double at : arrivals(requests())) CHECK(at == 0);
  const auto spread = arrivals(requests().set("workload.arrivals", "poisson").set("jps", 3));
  CHECK(spread.back() > 2);
  CHECK_THAT(requests().set("jps", 3).refusal(),
             Contains("jps has no effect here: it counts where workload.arrivals is poisson"));
}

TEST_CASE("an asynchronous cell generates as much, and its steps follow each other") {
  const auto small = [](bool async) {
    return support::crowded("continuum").set("engine.async_scheduling", async).run();
  };
  const auto sync = small(false), async = small(true);
  const auto outputs = [](const auto& result) {
    auto tokens = result.turns.template values<std::int32_t>("output_tok");
    std::ranges::sort(tokens);
    return tokens;
  };
  CHECK(outputs(async) == outputs(sync));
  CHECK(figure(async, "jobs") == figure(sync, "jobs"));
  const auto start = async.steps.values<double>("t_s"), took = async.steps.values<double>("dur_s");
  for (std::size_t i = 1; i < start.size(); ++i)
    CHECK(start[i] >= start[i - 1] + took[i - 1] - 1e-9);
  // A job that is alone never waits for a step of others.
  const auto alone = [](bool on) {
    return figure(Cell().set("workload.jobs", 1).set("engine.async_scheduling", on).run(),
                  "jct_wall_mean_s");
  };
  CHECK(alone(true) == Approx(alone(false)).epsilon(1e-6));
}

TEST_CASE("impossible lists of requests are refused at their place") {
  Cell fixed = Cell().without("jps").set("workload.kind", "fixed");
  CHECK_THAT(fixed.refusal(), Contains("workload.prompt"));
  CHECK(fixed.set("workload.prompt", 100).set("workload.output", 10).refusal() == "accepted");
  CHECK_THAT(requests().set("workload.max", 129).refusal(),
             Contains("must be at least workload.min + 2, which is 130"));
  CHECK_THAT(requests().set("workload.theta", 1.5).refusal(), Contains("workload.theta"));
  CHECK_THAT(requests().set("workload.window_s", 1.0).refusal(), Contains("workload.window_s"));
  Cell pair = Cell().without("jps").set("workload.kind", "pair");
  CHECK_THAT(pair.set("workload.requests", "12+3 4").refusal(),
             Contains("workload.requests found \"4\", allowed prompt+output"));
}

TEST_CASE("a file of lengths is identified by its content, not its path") {
  const auto cell_of = [](const std::string& path, const char* text) {
    std::ofstream(path) << text;
    return Cell().without("jps").set("workload.kind", "lengths").set("workload.path", path);
  };
  const auto folder = std::filesystem::temp_directory_path();
  const std::string a = folder / "kvsweep-a.txt", b = folder / "kvsweep-b.txt";
  const Cell first = cell_of(a, "378 68\n29 166\n");
  CHECK(first.identity() == cell_of(b, "378 68\n29 166\n").identity());
  CHECK(figure(first.run(), "jobs") == 2);
  CHECK(first.identity() != cell_of(b, "378 68\n29 167\n").identity());
  std::filesystem::remove(a);
  std::filesystem::remove(b);
}

TEST_CASE("keys that a scheduler does not look at are refused") {
  const auto with = [](const char* scheduler, const std::string& key, sweep::Value value) {
    return requests().set("engine.scheduler", scheduler).put(key, std::move(value)).refusal();
  };
  CHECK_THAT(with("mixed", "engine.chunk_tokens", std::int64_t{512}), Contains("\"chunked\""));
  CHECK_THAT(with("v1", "engine.chunking", std::string("adaptive")), Contains("\"chunked\""));
  CHECK_THAT(with("mixed", "engine.prefix_caching", true), Contains("must be false"));
  CHECK_THAT(with("mixed", "engine.chunked_prefill", true), Contains("is decided by"));
  CHECK_THAT(with("mixed", "policy.order", std::string("priority")), Contains("\"v1\""));
  CHECK_THAT(with("mixed", "engine.watermark_tokens", std::int64_t{1} << 30), Contains("pool"));
  CHECK_THAT(with("v1", "policy.max_new_tokens", std::int64_t{8}), Contains("contiguous"));
  CHECK(with("chunked", "engine.chunk_tokens", std::int64_t{0}) == "accepted");
}

TEST_CASE("the plain scheduler's cells have no keys of other schedulers") {
  const std::string plain = requests().identity();
  CHECK(requests().set("engine.scheduler", "v1").identity() == plain);
  for (const char* key :
       {"engine.scheduler", "chunk_tokens", "chunking", "watermark", "layout", "host_kv"})
    CHECK_THAT(plain, !Contains(key));
}

TEST_CASE("the longest sequence of a window is the window") {
  const auto config = requests().set("engine.scheduler", "mixed").config();
  CHECK(config.engine.scheduler.max_model_len == 2048);
  CHECK(config.engine.scheduler.watermark_blocks == (config.engine.kv.num_blocks - 1) / 100);
  CHECK_FALSE(config.engine.kv.prefix_caching);
}

TEST_CASE("host memory for KV is given by bytes or by tokens") {
  Cell cell = on_a_small_pool("swap");
  CHECK_THAT(cell.set("engine.host_kv_tokens", 1000).refusal(), Contains("so does dram_gib"));
  CHECK(cell.without("dram_gib").config().engine.tier.host_blocks == 62);
  CHECK(on_a_small_pool("recompute").set("engine.host_kv_tokens", 1000).identity() ==
        on_a_small_pool("recompute").identity());
}

TEST_CASE("by blocks, far less is copied than by whole requests, and nothing is recomputed") {
  const auto whole = on_a_small_pool("swap").run(), by_block = on_a_small_pool("partial").run();
  CHECK(figure(by_block, "evictions") > 0);
  CHECK(figure(by_block, "recomputed_tok") == 0);
  CHECK(figure(by_block, "d2h_bytes") < figure(whole, "d2h_bytes"));
  CHECK(figure(by_block, "d2h_bytes") == figure(by_block, "h2d_bytes"));
  CHECK(figure(by_block, "resume_overhead_s") == Approx(figure(by_block, "stall_s")));
  const auto &rows = by_block.evictions, &steps = by_block.steps;
  CHECK(support::sum(support::reals(rows, "out_s")) ==
        Approx(support::sum(support::reals(steps, "d2h_busy_s"))));
}

TEST_CASE("adaptively, requests are swapped over a fast link and recomputed with a slow one") {
  const auto swapped = [](double block_us) {
    return figure(on_a_small_pool("adaptive").set("sim.block_copy_us", block_us).run(),
                  "d2h_bytes") /
           figure(on_a_small_pool("swap").run(), "d2h_bytes");
  };
  CHECK(swapped(0) > 0.9);
  CHECK(swapped(10'000) < 0.2);
  CHECK(swapped(10'000) > 0);  // it takes one to see
}

TEST_CASE("contiguous buffers waste what is reserved and never written") {
  Cell naive = Cell().without("jps").set("workload.kind", "fixed").set("policy", "contiguous");
  naive.set("workload.n", 16)
      .set("workload.prompt", 16)
      .set("workload.output", 50)
      .set("policy.max_new_tokens", 512)
      .set("engine.max_model_len", 2048);
  const double alone = figure(naive.set("engine.max_num_seqs", 1).run(), "total_tok_s");
  const auto sixteen = naive.set("engine.max_num_seqs", 16).run();
  CHECK(figure(sixteen, "kv_waste_pct") > 88);
  CHECK(figure(sixteen, "total_tok_s") > 8 * alone);
  const auto paged = naive.without("policy.max_new_tokens").set("policy", "fcfs").run();
  CHECK(figure(paged, "kv_waste_pct") < 25);
}

TEST_CASE("in long gaps, KV is swapped to the host and back") {
  Cell cell;
  cell.set("policy", "infercept_swap")
      .set("dram_gib", 64)
      .set("workload.gap_s", 20.0)
      .set("workload.jobs", 20)
      .set("policy.estimator", "oracle")
      .set("engine.kv_tokens", 60'000);
  const auto result = cell.run();
  CHECK(figure(result, "h2d_bytes") > 0);
  CHECK(figure(result, "d2h_bytes") >= figure(result, "h2d_bytes"));
  CHECK(figure(result, "host_hit_tok") > 0);
}
