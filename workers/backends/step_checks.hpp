#pragma once
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "workers/backends/step_batch.hpp"
#include "workers/model/shape.hpp"

namespace backends {

/// Upper bounds of a step. Backends with fixed buffers size them by these.
struct StepLimits {
  int tokens = std::numeric_limits<int>::max();             // T
  int sequences = std::numeric_limits<int>::max();          // S, and rows of logits
  int blocks_a_sequence = std::numeric_limits<int>::max();  // width of the block table
};

/// The shapes that the kernels of a backend support.
struct KernelRange {
  std::string_view backend;                             // "cuda", for messages
  int block_multiple = 1;                               // tokens in a block are a multiple of this
  int largest_block = std::numeric_limits<int>::max();  // most tokens in a block
  std::span<const int> head_dims = {};                  // empty: any
  std::span<const int> groups = {};                     // query heads that share keys; empty: any
};

/// Those of the kernels of kernels/, which this program may have been built without.
KernelRange cuda_kernels();

/// Why the kernels do not support the block size or the model's heads; empty: they do.
std::string why_not(const KernelRange& range, int block_size, const model::ModelShape& shape);
/// Throws engine::InputError with that reason.
void check_kernels(const KernelRange& range, int block_size, const model::ModelShape& shape);

/// Checks a step before anything runs, since kernels read whatever row they are given. Throws
/// engine::InputError for tokens and positions that the model does not have, and std::logic_error
/// for a step beyond the limits, which is a mistake of the scheduler.
void check_step(const StepBatch& batch, const model::ModelShape& shape, const StepLimits& limits);

}  // namespace backends
