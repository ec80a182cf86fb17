// The device's access log. Every step is checked against the schedule when it is added, so a log
// that finishes is complete.
#include <set>

#include "tests/backends/access_check.hpp"
#include "tests/gpu/backend/gpu_world.hpp"
#include "workers/engine/base/clock.hpp"

using namespace gpu_backend_test;
using backends::AccessLogOptions;
using backends::IndexRanges;

namespace {

constexpr int kBlocks = 40, kPrompt = 150;

struct Outcome {
  std::vector<Tokens> sampled;  // by step
  std::vector<std::vector<float>> logits;
  std::set<std::uint64_t> logged_steps;
  std::size_t accesses = 0;
};

/// Serves two prompts, the second in two chunks beside a decode of the first, then decodes of both,
/// the later ones of which replay a graph.
Outcome serve(const backends::cuda::DeviceWeights& weights,
              const backends::CudaCellOptions& options) {
  const auto backend = make_backend(weights, options);
  backend->start_access_log(kBlocks + 1);
  engine::WallClock clock;
  if (backend->access_log()) backend->access_log()->use_clock(clock);
  const int vocab = weights.config().shape.vocab, half = kBlocks / 2;
  Steps hand;
  engine::Request& a = hand.request(some_tokens(kPrompt, vocab, 1), blocks_from(1, half));
  engine::Request& b = hand.request(some_tokens(kPrompt, vocab, 2), blocks_from(1 + half, half));
  Outcome out;
  const auto execute = [&](const engine::StepPlan& plan) {
    const auto sampled = backend->execute(plan).sampled;
    out.sampled.emplace_back(sampled.begin(), sampled.end());
    out.logits.push_back(backend->logits());
  };
  execute(hand.step({{a, 0, kPrompt}}));
  a.outputs.push_back(1);
  execute(hand.step({{a, kPrompt, kPrompt + 1, true}, {b, 0, 70}}));
  a.outputs.push_back(2);
  execute(hand.step({{a, kPrompt + 1, kPrompt + 2, true}, {b, 70, kPrompt}}));
  for (int i = 0; i < 4; ++i) {
    a.outputs.push_back(3);
    b.outputs.push_back(4);
    execute(hand.step(
        {{a, kPrompt + 2 + i, kPrompt + 3 + i, true}, {b, kPrompt + i, kPrompt + 1 + i, true}}));
  }
  if (!backend->access_log()) return out;
  const backends::AccessLog& log = backend->access_log()->finish();
  out.accesses = log.accesses().size();
  for (const backends::LoggedRow& row : log.rows()) out.logged_steps.insert(row.step);
  return out;
}

}  // namespace

TEST_CASE("a device's access log is whole, and changes nothing of what is computed", "[gpu]") {
  NEEDS_DEVICE;
  const auto weights = on_device(small_model(model::Architecture::llama, model::DType::bf16));
  for (const int block_size : {8, 16, 24}) {
    for (const auto prompts :
         {backends::PrefillAttention::paged, backends::PrefillAttention::contiguous}) {
      INFO("block size " << block_size);
      backends::CudaCellOptions options = small_cell(kBlocks, block_size);
      options.prefill_attention = prompts;
      const Outcome plain = serve(weights, options);
      options.access_log = backends::checked();
      const Outcome logged = serve(weights, options);
      CHECK(logged.sampled == plain.sampled);
      CHECK(logged.logits == plain.logits);
      CHECK(logged.logged_steps.size() == 7);
      CHECK(logged.accesses > 0);
    }
  }
}

/// Small enough for a tool that checks every access to shared memory.
TEST_CASE("the log of a short prompt and a decode is whole", "[gpu]") {
  NEEDS_DEVICE;
  const auto weights = on_device(small_model(model::Architecture::llama, model::DType::bf16));
  backends::CudaCellOptions options = small_cell(2);
  options.access_log = backends::checked();
  const auto backend = make_backend(weights, options);
  backend->start_access_log(3);
  const engine::WallClock clock;
  backend->access_log()->use_clock(clock);
  Steps hand;
  engine::Request& a =
      hand.request(some_tokens(20, weights.config().shape.vocab, 1), blocks_from(1, 2));
  backend->execute(hand.step({{a, 0, 20}}));
  a.outputs.push_back(1);
  backend->execute(hand.step({{a, 20, 21, true}}));
  CHECK(backend->access_log()->finish().rows().size() == 2);
}

TEST_CASE("a device logs the steps, layers and heads that were asked for", "[gpu]") {
  NEEDS_DEVICE;
  const auto weights = on_device(small_model(model::Architecture::llama, model::DType::bf16));
  backends::CudaCellOptions options = small_cell(kBlocks);
  options.access_log = backends::checked();
  const std::size_t all = serve(weights, options).accesses;
  options.access_log->heads = IndexRanges::parse("0");
  const std::size_t heads = static_cast<std::size_t>(weights.config().shape.kv_heads);
  CHECK(serve(weights, options).accesses * heads == all);
  options.access_log->layers = IndexRanges::parse("0");
  const std::size_t layers = static_cast<std::size_t>(weights.config().shape.layers);
  CHECK(serve(weights, options).accesses * heads * layers == all);
  options.access_log->steps = IndexRanges::parse("2,6-7");
  CHECK(serve(weights, options).logged_steps == std::set<std::uint64_t>{2, 6, 7});
}
