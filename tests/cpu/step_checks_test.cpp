#include "workers/backends/step_batch.hpp"

#include "tests/cpu/hand_plan.hpp"
#include "tests/support/catch.hpp"
#include "workers/backends/cpu/cpu_backend.hpp"
#include "workers/engine/base/errors.hpp"

using namespace cpu_test;
using namespace backends;
using Catch::Matchers::Contains;

namespace {

constexpr int kCheckedBlock = 4;

const model::ModelShape& shape() {
  static const model::ModelConfig config = small_model(model::Architecture::llama);
  return config.shape;
}

StepBatch checked_batch(const engine::StepPlan& plan) {
  StepBatch batch;
  batch.fill(plan, kCheckedBlock);
  return batch;
}

/// A step of two prompts: 9 tokens in three blocks, 2 in one.
StepBatch eleven_tokens_of_two() {
  HandPlans plans(kCheckedBlock);
  engine::Request& longer = plans.request(small_tokens(9), {1, 2, 3});
  engine::Request& shorter = plans.request(small_tokens(2), {4});
  return checked_batch(plans.step({{longer, 0, 9, 3}, {shorter, 0, 2, 1}}));
}

/// A range of kernels like a GPU's: blocks of whole tiles, two sizes of heads, small groups.
KernelRange tiled() {
  static constexpr int kHeadDims[] = {8, 16}, kGroups[] = {1, 2};
  return {.backend = "tiled",
          .block_multiple = 8,
          .largest_block = 64,
          .head_dims = kHeadDims,
          .groups = kGroups};
}

model::ModelShape with_heads(int heads, int kv_heads, int head_dim) {
  model::ModelShape changed = shape();
  changed.heads = heads;
  changed.kv_heads = kv_heads;
  changed.head_dim = head_dim;
  return changed;
}

}  // namespace

TEST_CASE("a step at its limits passes, one token, sequence or block beyond them does not",
          "[step_checks]") {
  const StepBatch batch = eleven_tokens_of_two();
  const auto check = [&](int tokens, int sequences, int blocks) {
    check_step(batch, shape(), {tokens, sequences, blocks});
  };
  CHECK_NOTHROW(check(11, 2, 3));
  CHECK_THROWS_AS(check(10, 2, 3), std::logic_error);
  CHECK_THROWS_WITH(check(10, 2, 3), Contains("11 tokens and exceeds the 10"));
  CHECK_THROWS_WITH(check(11, 1, 3), Contains("2 sequences and exceeds the 1"));
  CHECK_THROWS_WITH(check(11, 2, 2), Contains("3 blocks in a sequence and exceeds the 2"));
}

TEST_CASE("without limits only the model bounds a step", "[step_checks]") {
  CHECK_NOTHROW(check_step(eleven_tokens_of_two(), shape(), {}));
}

TEST_CASE("tokens outside the vocabulary are refused on either side", "[step_checks]") {
  StepBatch batch = eleven_tokens_of_two();
  batch.tokens[3] = 60;
  CHECK_NOTHROW(check_step(batch, shape(), {}));
  for (const int token : {-1, 61}) {
    batch.tokens[3] = token;
    CHECK_THROWS_AS(check_step(batch, shape(), {}), engine::InputError);
    CHECK_THROWS_WITH(
        check_step(batch, shape(), {}),
        "model small-llama has no token " + std::to_string(token) + "; allowed is 0 to 60");
  }
}

TEST_CASE("the model's last position passes and the next one is refused", "[step_checks]") {
  StepBatch batch = eleven_tokens_of_two();
  batch.context[1] = 512;
  CHECK_NOTHROW(check_step(batch, shape(), {}));
  batch.context[1] = 513;
  CHECK_THROWS_WITH(check_step(batch, shape(), {}),
                    "model small-llama has no position 512; allowed is 0 to 511");
}

TEST_CASE("blocks that are not whole tiles of the kernels, or too large, are refused",
          "[step_checks]") {
  for (const int size : {8, 16, 64}) CHECK_NOTHROW(check_kernels(tiled(), size, shape()));
  for (const int size : {0, -8, 4, 12, 72})
    CHECK_THROWS_WITH(check_kernels(tiled(), size, shape()),
                      "engine.block_size must be a multiple of 8 up to 64 on the tiled backend, "
                      "found " +
                          std::to_string(size));
}

TEST_CASE("heads that the kernels do not know are refused with those that they know",
          "[step_checks]") {
  CHECK_NOTHROW(check_kernels(tiled(), 8, with_heads(4, 2, 16)));
  CHECK_THROWS_WITH(check_kernels(tiled(), 8, with_heads(4, 2, 12)),
                    "the tiled backend knows heads of 8 or 16, small-llama has heads of 12");
  CHECK_THROWS_WITH(check_kernels(tiled(), 8, with_heads(6, 2, 8)), Contains("6 heads over 2"));
  CHECK_THROWS_WITH(check_kernels(tiled(), 8, with_heads(3, 2, 8)), Contains("3 heads over 2"));
}

TEST_CASE("the cpu backend takes blocks and heads of any size, and refuses what no kernel could",
          "[step_checks]") {
  const CpuWeights weights = random_model(small_model(model::Architecture::llama));
  const auto make = [&](int block_size) {
    CpuBackend(weights, {.num_blocks = 2, .block_size = block_size}, {});
  };
  for (const int size : {1, 3, 31, 2048}) CHECK_NOTHROW(make(size));
  CHECK_THROWS_AS(make(0), engine::InputError);
}

TEST_CASE("the cpu backend checks steps against the limits of its scheduler", "[step_checks]") {
  const CpuWeights weights = random_model(small_model(model::Architecture::llama));
  CpuOptions options;
  options.limits.tokens = 8;
  CpuBackend backend(weights, {.num_blocks = 8, .block_size = kCheckedBlock}, options);
  HandPlans plans(kCheckedBlock);
  engine::Request& request = plans.request(small_tokens(9), {1, 2, 3});
  CHECK_THROWS_WITH(backend.execute(plans.step({{request, 0, 9, 3}})), Contains("exceeds the 8"));
  CHECK(backend.execute(plans.step({{request, 0, 8, 2}})).sampled.empty());
  CHECK(backend.execute(plans.step({{request, 8, 9, 1}})).sampled.size() == 1);
}
