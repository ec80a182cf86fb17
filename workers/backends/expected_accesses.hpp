#pragma once
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "kernels/access_log.hpp"
#include "workers/engine/step/step.hpp"

namespace backends {

/// How a backend's kernels traverse the KV cache: properties of their tiles, independent of the
/// step.
struct AccessPattern {
  int block_size = 16;
  int kv_heads = 0;
  int decode_tile = 0;   // slots of a tile in decode attention; a read ends with its tile or block
  int prefill_tile = 0;  // the same in prefill; 0: a read ends with its block alone
  int query_tile = 0;    // query tokens that share a read of keys in prefill; 0: a whole chunk
  bool prompts_unread = false;  // attention of a whole prompt reads no KV blocks
};

/// A request's share of a logged step.
struct AccessRow {
  std::int32_t job, turn;
  bool decode;
  int context;  // tokens with KV after the step
  int new_tokens;
  /// Number of keys that each query tile of the row sees: a query tile reads the slots of all
  /// tokens before this position.
  std::vector<int> tiles;
  std::vector<std::uint32_t> blocks;  // blocks of the context, in order

  std::int64_t read_slots() const;  // per head, for keys and for values each
};

/// The records that a step must leave in the log of one layer, computed from the schedule alone.
struct ExpectedStep {
  std::uint64_t step = 0;
  std::vector<AccessRow> rows;
  std::int64_t reads = 0, writes = 0;  // records per head
};
ExpectedStep expect_accesses(const engine::StepPlan& plan, const AccessPattern& pattern);

/// Number of records that a step must leave per head and layer: the count of expect_accesses() in a
/// fraction of its time.
struct AccessCount {
  std::int64_t reads = 0, writes = 0;
};
AccessCount count_accesses(const engine::StepPlan& plan, const AccessPattern& pattern);

/// Visits the number of keys that each query tile of a share sees, in order; none when it reads no
/// blocks.
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

/// Number of pieces of [0, length) cut at multiples of `tile` (0: none) and of `block`.
std::int64_t pieces(std::int64_t length, std::int64_t tile, std::int64_t block);

/// The log of a step contradicts the schedule: kernels read or wrote something else, or the log is
/// broken. what() tells where.
struct AccessMismatch : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct AccessSegment {
  const kernels::SegmentHeader* header;
  const kernels::AccessRecord* records;  // [header->count]
};

/// The logged layers and heads.
struct LoggedParts {
  std::vector<int> layers, heads;
};

}  // namespace backends
