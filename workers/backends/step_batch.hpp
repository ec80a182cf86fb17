#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "workers/engine/step/step.hpp"
#include "workers/model/shape.hpp"

namespace backends {

/// The tokens that the last step sampled. Under asynchronous scheduling they are inputs of the next
/// step before the engine knows them.
class UnappliedTokens {
 public:
  /// `sampled` has one token for each share that samples, in order.
  void keep(const engine::StepPlan& plan, std::span<const engine::TokenId> sampled) {
    last_.clear();
    for (const engine::ScheduledRequest& share : plan.scheduled) {
      if (!share.samples) continue;
      last_.emplace_back(share.request->id, sampled[last_.size()]);
    }
  }

  /// The token of the request at this position. Throws std::logic_error when no step sampled it.
  engine::TokenId at(const engine::Request& request, int position) const {
    if (position < request.num_tokens()) return request.token(position);
    const auto output = static_cast<std::size_t>(position - request.num_prompt());
    if (output < request.spec.forced.size()) return request.spec.forced[output];
    for (const auto& [id, token] : last_)
      if (id == request.id) return token;
    throw std::logic_error("a step computes a token that no step has sampled");
  }

 private:
  std::vector<std::pair<engine::RequestId, engine::TokenId>> last_;
};

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

/// The shapes that the kernels of kernels/ support, which this program may have been built without.
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
