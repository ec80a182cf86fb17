#include "workers/backends/step_batch.hpp"

#include "tests/cpu/hand_plan.hpp"

using namespace cpu_test;
using backends::StepBatch;
using Ints = std::vector<std::int32_t>;

namespace {

constexpr int kBatchBlock = 4;

StepBatch batch_of(const engine::StepPlan& plan) {
  StepBatch batch;
  batch.fill(plan, kBatchBlock);
  return batch;
}

}  // namespace

TEST_CASE("a step without requests has no rows and one query start", "[batch]") {
  const StepBatch batch = batch_of(HandPlans(kBatchBlock).step({}));
  CHECK(batch.num_tokens() == 0);
  CHECK(batch.num_sequences() == 0);
  CHECK(batch.query_start == Ints{0});
  CHECK(batch.table_stride == 0);
}

TEST_CASE("the tokens of a step lie one behind the other in the plan's order", "[batch]") {
  HandPlans plans(kBatchBlock);
  engine::Request& chunk = plans.request({10, 11, 12, 13, 14, 15, 16}, {3, 9});
  engine::Request& decode = plans.request({20, 21, 22, 23, 24, 25, 26, 27, 28}, {5, 4, 7});
  const StepBatch batch = batch_of(plans.step({{chunk, 2, 6}, {decode, 8, 9, 1}}));
  CHECK(batch.tokens == Ints{12, 13, 14, 15, 28});
  CHECK(batch.positions == Ints{2, 3, 4, 5, 8});
  CHECK(batch.sequence == Ints{0, 0, 0, 0, 1});
  CHECK(batch.query_start == Ints{0, 4, 5});
  CHECK(batch.context == Ints{6, 9});
  CHECK(batch.table_stride == 3);
  CHECK(batch.block_tables == Ints{3, 9, 0, 5, 4, 7});
  CHECK(batch.logits_rows == Ints{4});  // the chunk's request has one more token to compute
}

TEST_CASE("new blocks are those behind what is computed, and no prefix hit", "[batch]") {
  HandPlans plans(kBatchBlock);
  engine::Request& fresh = plans.request(small_tokens(9), {1, 2, 3});
  CHECK(batch_of(plans.step({{fresh, 0, 9, 3}})).new_blocks == Ints{1, 2, 3});
  // All three blocks are new in the request's table; two of them hold a prefix.
  CHECK(batch_of(plans.step({{fresh, 8, 9, 3}})).new_blocks == Ints{3});
  // A running request that grows into its third block, and one that stays in its last.
  CHECK(batch_of(plans.step({{fresh, 6, 9, 1}})).new_blocks == Ints{3});
  CHECK(batch_of(plans.step({{fresh, 8, 9, 0}})).new_blocks.empty());
}

TEST_CASE("a batch that is filled again holds the new step alone", "[batch]") {
  HandPlans plans(kBatchBlock);
  engine::Request& longer = plans.request(small_tokens(9), {1, 2, 3});
  engine::Request& shorter = plans.request(small_tokens(2), {4});
  StepBatch batch;
  batch.fill(plans.step({{longer, 0, 9, 3}}), kBatchBlock);
  batch.fill(plans.step({{shorter, 0, 2, 1}}), kBatchBlock);
  CHECK(batch.num_tokens() == 2);
  CHECK(batch.block_tables == Ints{4});
  CHECK(batch.new_blocks == Ints{4});
  CHECK(batch.logits_rows == Ints{1});
}
