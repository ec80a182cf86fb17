#pragma once
#include <cstdint>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "workers/engine/step/step.hpp"

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

}  // namespace backends
