#include "tests/cpu/random_serving.hpp"
#include "tests/engine/support/seeds.hpp"

using namespace cpu_test;
using support::Dice;

TEST_CASE(
    "tokens and logits have the same bits however requests are chunked, batched, cached and "
    "preempted, and whether or not a step is in flight",
    "[invariance]") {
  const auto llama = random_model(small_model(model::Architecture::llama));
  const auto opt = random_model(small_model(model::Architecture::opt));
  model::ModelConfig with_norms = small_model(model::Architecture::llama);
  with_norms.shape.qk_norms = with_norms.shape.qkv_biases = true;
  const auto qwen = random_model(with_norms);
  int preemptions = 0, hits = 0, pins = 0, compared = 0;
  support::for_each_seed(150, [&](std::uint64_t seed) {
    Dice dice(seed);
    const auto& weights = seed % 4 == 0 ? opt : seed % 4 == 1 ? qwen : llama;
    const auto kv_type =
        dice.any({model::DType::f32, model::DType::bf16, model::DType::f16, model::DType::e4m3});
    const auto jobs = random_jobs(dice, weights.shape().vocab, kMaxModelLen);
    const Served plain = serve(weights, jobs, plain_serving(kMaxModelLen, kv_type));
    for (int variant = 0; variant < 4; ++variant) {
      Serving serving = random_serving(dice, kv_type);
      serving.engine.async_scheduling = variant % 2 == 1;
      const Served served = serve(weights, jobs, serving);
      const std::string found = difference(served, plain);
      if (!found.empty()) throw std::logic_error(found + " with " + describe(serving));
      preemptions += served.preemptions;
      hits += served.hit_tokens;
      pins += served.pins;
      compared += static_cast<int>(served.logits.size());
    }
  });
  std::cout << "compared " << compared << " rows of logits over " << preemptions << " preemptions, "
            << hits << " tokens of prefix hits, " << pins << " pins\n";
  CHECK(preemptions > 0);
  CHECK(hits > 0);
  CHECK(pins > 0);
}

TEST_CASE("two models of different seeds, or KV of different types, do not answer alike",
          "[invariance]") {
  Dice dice(1);
  const auto config = small_model(model::Architecture::llama);
  const auto weights = random_model(config);
  const backends::CpuWeights other(config, *model::random_weights(config, 2), model::DType::f32, 1);
  const auto jobs = random_jobs(dice, config.shape.vocab, kMaxModelLen);
  const auto plain = serve(weights, jobs, plain_serving(kMaxModelLen, model::DType::f32));
  const auto bf16 = serve(weights, jobs, plain_serving(kMaxModelLen, model::DType::bf16));
  CHECK(difference(plain, plain).empty());
  CHECK_FALSE(difference(serve(other, jobs, plain_serving(kMaxModelLen, model::DType::f32)), plain)
                  .empty());
  CHECK_FALSE(difference(bf16, plain).empty());
}
