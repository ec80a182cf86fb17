#pragma once
#include <cstdint>
#include <vector>

#include "workers/engine/step.hpp"

namespace backends {

/// How a backend's kernels go through the KV cache: what follows from their tiles, not from a step.
struct AccessPattern {
  int block_size = 16;
  int kv_heads = 0;
  int decode_tile = 0;   // slots of a read in decode attention: a read ends where a tile or a block
  int prefill_tile = 0;  // does; 0: where a block does
  int query_tile = 0;    // query tokens that read their keys together in prefill; 0: a whole chunk
  bool prompts_unread = false;  // attention of a whole prompt reads no KV blocks
};

/// A request's share of a logged step.
struct AccessRow {
  std::int32_t job, turn;
  bool decode;
  int context;  // tokens with KV after the step
  int new_tokens;
  /// Keys that the row's query tiles see, one tile each: a query tile reads the slots of all tokens
  /// before its entry.
  std::vector<int> tiles;
  std::vector<std::uint32_t> blocks;  // of the context, in order

  std::int64_t read_slots() const;  // for each head, of keys and of values
};

/// What a step must leave in the log of one layer, by the schedule alone.
struct ExpectedStep {
  std::uint64_t step = 0;
  std::vector<AccessRow> rows;
  std::int64_t reads = 0, writes = 0;  // records of each head
};
ExpectedStep expect_accesses(const engine::StepPlan& plan, const AccessPattern& pattern);

/// How many records a step must leave, of each head and layer: what expect_accesses() counts, in a
/// fraction of its time.
struct AccessCount {
  std::int64_t reads = 0, writes = 0;
};
AccessCount count_accesses(const engine::StepPlan& plan, const AccessPattern& pattern);

/// Keys that each query tile of a share sees, in order; none where it reads no blocks.
template <class Visit>
void for_each_tile(const engine::ScheduledRequest& share, const AccessPattern& pattern,
                   const Visit& visit) {
  const int context = share.computed_before + share.num_tokens;
  if (share.decode) return visit(context);
  if (pattern.prompts_unread && share.computed_before == 0) return;
  const int size = pattern.query_tile > 0 ? pattern.query_tile : share.num_tokens;
  for (int end = size; end < share.num_tokens + size; end += size)
    visit(share.computed_before + (end < share.num_tokens ? end : share.num_tokens));
}

/// Pieces that [0, length) falls into when it is cut at multiples of `tile` (0: of none) and of
/// `block`.
std::int64_t pieces(std::int64_t length, std::int64_t tile, std::int64_t block);

}  // namespace backends
