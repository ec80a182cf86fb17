#include <cmath>
#include <set>
#include "tests/gpu/backend/gpu_world.hpp"

#include "tests/engine/support/fuzz_case.hpp"

using namespace gpu_backend_test;

namespace {

/// Sequences with prompts of their own, which all decode in every step, in an order that
/// alternates.
class Decoding {
 public:
  Decoding(backends::cuda::GpuBackend& backend, const model::ModelConfig& config, int sequences,
           int steps)
      : backend_(backend) {
    constexpr int kBlocks = 9;
    support::Dice dice(static_cast<std::uint32_t>(sequences));
    for (int s = 0; s < sequences; ++s) {
      const int length = dice.between(1, 16 * kBlocks - steps - 1);
      all_.push_back(
          &hand_.request(some_tokens(length, config.shape.vocab, s),
                         blocks_from(1 + static_cast<std::uint32_t>(kBlocks * s), kBlocks)));
      backend.execute(hand_.step({{*all_.back(), 0, length}}));
      all_.back()->outputs.push_back(1);
    }
  }

  const engine::StepPlan& step(int i) {
    plan_.step = 1000 + static_cast<std::uint64_t>(i);
    plan_.scheduled.clear();
    plan_.total_tokens = static_cast<int>(all_.size());
    for (std::size_t s = 0; s < all_.size(); ++s) {
      engine::Request* request = all_[place(i, s)];
      plan_.scheduled.push_back({.request = request,
                                 .kind = engine::SchedKind::running,
                                 .num_tokens = 1,
                                 .computed_before = request->num_prompt() + i,
                                 .num_new_blocks = 0,
                                 .samples = true,
                                 .decode = true});
    }
    return plan_;
  }
  /// Tells the requests what step `i` has sampled, and returns it by request.
  Tokens apply(int i, const engine::StepResult& result) {
    Tokens sampled(all_.size());
    for (std::size_t s = 0; s < all_.size(); ++s) sampled[place(i, s)] = result.sampled[s];
    for (std::size_t s = 0; s < all_.size(); ++s) all_[s]->outputs.push_back(sampled[s]);
    return sampled;
  }

 private:
  std::size_t place(int i, std::size_t s) const { return i % 3 == 2 ? all_.size() - 1 - s : s; }

  backends::cuda::GpuBackend& backend_;
  Steps hand_;
  std::vector<engine::Request*> all_;
  engine::StepPlan plan_;
};

struct Decoded {
  std::vector<std::vector<float>> logits;  // by step
  std::vector<Tokens> sampled;
};

Decoded decode(backends::cuda::GpuBackend& backend, const model::ModelConfig& config, int sequences,
               int steps) {
  Decoding decoding(backend, config, sequences, steps);
  Decoded out;
  for (int i = 0; i < steps; ++i) {
    out.sampled.push_back(decoding.apply(i, backend.execute(decoding.step(i))));
    out.logits.push_back(backend.logits());
  }
  return out;
}

/// The same with a step in flight whenever another is launched.
std::vector<Tokens> decode_ahead(backends::cuda::GpuBackend& backend,
                                 const model::ModelConfig& config, int sequences, int steps) {
  Decoding decoding(backend, config, sequences, steps);
  std::vector<Tokens> sampled;
  backend.launch(decoding.step(0));
  for (int i = 0; i < steps; ++i) {
    if (i + 1 < steps) backend.launch(decoding.step(i + 1));
    sampled.push_back(decoding.apply(i, backend.wait()));
  }
  return sampled;
}

struct Kind {
  model::Architecture architecture;
  model::DType dtype;
};

backends::CudaCellOptions room_for(int sequences) {
  backends::CudaCellOptions options = small_cell(9 * sequences + 1);
  options.max_seqs = sequences;
  return options;
}

}  // namespace

TEST_CASE("a step launched behind another takes the tokens which that one samples") {
  NEEDS_DEVICE;
  const model::ModelConfig config = small_model(model::Architecture::llama, model::DType::bf16);
  const auto weights = on_device(config);
  const int sequences = GENERATE(1, 5, 40);
  const bool graphs = GENERATE(true, false);
  CAPTURE(sequences, graphs);
  backends::CudaCellOptions options = room_for(sequences);
  options.graphs = graphs;
  const auto plain = make_backend(weights, options), ahead = make_backend(weights, options);
  const std::vector<Tokens> expected = decode(*plain, config, sequences, 30).sampled;
  CHECK(decode_ahead(*ahead, config, sequences, 30) == expected);
  CHECK(std::set<Tokens>(expected.begin(), expected.end()).size() > 1);
}

TEST_CASE("a decode step replayed from its graph gives the bits of one launched kernel by kernel") {
  NEEDS_DEVICE;
  const Kind kind = GENERATE(Kind{model::Architecture::llama, model::DType::bf16},
                             Kind{model::Architecture::opt, model::DType::f16});
  const model::ModelConfig config = small_model(kind.architecture, kind.dtype);
  const auto weights = on_device(config);
  backends::CudaCellOptions options = room_for(40);
  const auto replaying = make_backend(weights, options);
  options.graphs = false;
  const auto launching = make_backend(weights, options);
  for (const int sequences : {1, 2, 3, 8, 9, 31, 40}) {
    CAPTURE(config.shape.name, sequences);
    const Decoded replayed = decode(*replaying, config, sequences, 5);
    const Decoded launched = decode(*launching, config, sequences, 5);
    CHECK(replayed.sampled == launched.sampled);
    CHECK(replayed.logits == launched.logits);
  }
}

TEST_CASE("graphs recorded before the first step give what those recorded on the way give") {
  NEEDS_DEVICE;
  const model::ModelConfig config =
      small_model(model::Architecture::llama, model::DType::bf16, 128);
  const auto weights = on_device(config);
  const auto early = make_backend(weights, room_for(12)),
             late = make_backend(weights, room_for(12));
  early->record_graphs();
  for (const int sequences : {12, 5, 1}) {
    CAPTURE(sequences);
    CHECK(decode(*early, config, sequences, 3).logits ==
          decode(*late, config, sequences, 3).logits);
  }
}

TEST_CASE("a sequence decodes to the same bits beside up to seven others") {
  NEEDS_DEVICE;
  model::ModelConfig config = small_model(model::Architecture::llama, model::DType::bf16);
  config.shape.vocab = 528;  // small-M GEMMs then all use the kernels of this project
  const auto weights = on_device(config);
  const auto backend = make_backend(weights, room_for(8));
  Steps hand;
  engine::Request& one = hand.request(some_tokens(40, config.shape.vocab), blocks_from(1, 4));
  engine::Request& other = hand.request(some_tokens(70, config.shape.vocab, 3), blocks_from(5, 6));
  backend->execute(hand.step({{one, 0, 39}, {other, 0, 69}}));
  backend->execute(hand.step({{one, 39, 40, true}}));
  const std::vector<float> alone = backend->logits();
  backend->execute(hand.step({{one, 39, 40, true}, {other, 69, 70, true}}));
  const std::vector<float> both = backend->logits();
  CHECK(std::equal(alone.begin(), alone.end(), both.begin()));
}

TEST_CASE("measured products are kept, and give the same logits but for rounding") {
  NEEDS_DEVICE;
  const model::ModelConfig config = small_model(model::Architecture::llama, model::DType::f16);
  const auto weights = on_device(config);
  const auto options = room_for(24);
  backends::cuda::GemmTable table;
  backends::cuda::GpuBackend measured(0, weights, options, table);
  measured.warm_up();
  measured.tune();
  const std::size_t known = table.size();
  CHECK(known > 0);
  measured.tune();
  CHECK(table.size() == known);
  measured.take_pool(plan_pool(options.pool, {}, measured.block_bytes(), options.block_size));
  const Decoded found = decode(measured, config, 20, 2);
  const Decoded expected = decode(*make_backend(weights, options), config, 20, 2);
  for (std::size_t i = 0; i < expected.logits[0].size(); ++i)
    if (std::abs(found.logits[0][i] - expected.logits[0][i]) > 0.05f)
      FAIL("logit " << i << ": " << found.logits[0][i] << ", " << expected.logits[0][i]);
  CHECK(found.logits[0].size() == expected.logits[0].size());
}

TEST_CASE("a prompt in two chunks and a few decoded tokens of every architecture", "[short]") {
  NEEDS_DEVICE;
  const Kind kind = GENERATE(Kind{model::Architecture::llama, model::DType::bf16},
                             Kind{model::Architecture::opt, model::DType::f16});
  const model::ModelConfig config = small_model(kind.architecture, kind.dtype);
  const auto weights = on_device(config);
  const auto backend = make_backend(weights, room_for(9));
  Steps hand;
  engine::Request& request = hand.request(some_tokens(30, config.shape.vocab), blocks_from(1, 3));
  backend->execute(hand.step({{request, 0, 17, false, 3}}));
  backend->execute(hand.step({{request, 17, 30}}));
  for (const float logit : backend->logits()) REQUIRE(std::isfinite(logit));
  for (const int sequences : {1, 9})
    CHECK(decode(*backend, config, sequences, 3).logits.size() == 3);
}
