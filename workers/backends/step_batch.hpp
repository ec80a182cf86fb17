#pragma once
#include <cstdint>
#include <vector>

#include "workers/backends/unapplied_tokens.hpp"
#include "workers/engine/step/step.hpp"

namespace backends {

/// A step as the arrays that kernels take. T tokens of S sequences, in the plan's order. Buffers
/// keep their capacity between steps.
struct StepBatch {
  std::vector<std::int32_t> tokens;        // [T] token ids
  std::vector<std::int32_t> positions;     // [T] in their sequence
  std::vector<std::int32_t> sequence;      // [T] row of the block table
  std::vector<std::int32_t> query_start;   // [S + 1] first token of each sequence; the last is T
  std::vector<std::int32_t> context;       // [S] tokens with KV after the step, its own included
  std::vector<std::int32_t> block_tables;  // [S][table_stride] block ids, padded with 0
  int table_stride = 0;
  std::vector<std::int32_t> logits_rows;  // [R] tokens that need logits, ascending
  std::vector<std::int32_t> new_blocks;   // allocated by this step; their content is undefined
  int num_tokens() const { return static_cast<int>(tokens.size()); }
  int num_sequences() const { return static_cast<int>(context.size()); }

  /// `unapplied` has the tokens of the step before, where the engine may not know them yet.
  void fill(const engine::StepPlan& plan, int block_size, const UnappliedTokens& unapplied = {});
};

}  // namespace backends
