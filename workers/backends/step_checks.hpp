#pragma once
#include <limits>
#include <span>
#include <string_view>

#include "workers/backends/step_batch.hpp"
#include "workers/model/shape.hpp"

namespace backends {

/// The most that a step may hold. Backends whose buffers are sized once size them by it.
struct StepLimits {
  int tokens = std::numeric_limits<int>::max();             // T
  int sequences = std::numeric_limits<int>::max();          // S, and rows of logits
  int blocks_a_sequence = std::numeric_limits<int>::max();  // width of the block table
};

/// What the kernels of a backend can compute.
struct KernelRange {
  std::string_view backend;                             // "cuda", for messages
  int block_multiple = 1;                               // of tokens in a block,
  int largest_block = std::numeric_limits<int>::max();  // and the most of them
  std::span<const int> head_dims = {};                  // empty: any
  int largest_group = std::numeric_limits<int>::max();  // query heads that share keys and values
};

/// Throws engine::InputError for blocks and heads that the kernels do not know.
void check_kernels(const KernelRange& range, int block_size, const model::ModelShape& shape);

/// Of a step before anything runs: kernels look up whatever row they are told. Throws
/// engine::InputError for tokens and positions that the model does not have, and std::logic_error
/// for a step beyond the limits, which is the scheduler's mistake.
void check_step(const StepBatch& batch, const model::ModelShape& shape, const StepLimits& limits);

}  // namespace backends
