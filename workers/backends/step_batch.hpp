#pragma once
#include <cstdint>
#include <vector>

#include "workers/engine/step.hpp"

namespace backends {

/// A step as arrays, the form in which kernels take it. T tokens of S sequences, in the plan's
/// order; buffers keep their capacity from step to step.
struct StepBatch {
  std::vector<std::int32_t> tokens;        // [T] token ids
  std::vector<std::int32_t> positions;     // [T] in their sequence
  std::vector<std::int32_t> sequence;      // [T] row of the block table
  std::vector<std::int32_t> query_start;   // [S + 1] first token of each sequence; the last is T
  std::vector<std::int32_t> context;       // [S] tokens with KV after the step, its own included
  std::vector<std::int32_t> block_tables;  // [S][table_stride] block ids, padded with 0
  int table_stride = 0;
  std::vector<std::int32_t> logits_rows;  // [R] tokens whose logits are needed, ascending
  std::vector<std::int32_t> new_blocks;   // blocks taken by this step; their content is void
  int num_tokens() const { return static_cast<int>(tokens.size()); }
  int num_sequences() const { return static_cast<int>(context.size()); }

  void fill(const engine::StepPlan& plan, int block_size);
};

}  // namespace backends
