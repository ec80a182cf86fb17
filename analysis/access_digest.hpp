#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sweeps/table.hpp"

namespace analysis {

// The access log of a cell (docs/access-log.md) made small enough for a page. It is of the first
// layer logged. Times are nanoseconds from the first access of that layer in the steps shown.

/// One access.
struct AccessMark {
  std::int64_t t_ns, dur_ns, step;
  int kind;  // sweep::KvAccessKind
  int block, first_slot, n_slots, kv_head;
  int job;  // whose request it served; -1 where the log does not say
};

/// A pause of all accesses that a chart shortens by `lost_ns`.
struct AccessCut {
  std::int64_t from_ns, lost_ns;
};

/// How keys, or values, of a block were used from the layer's first access to its last.
struct BlockIdle {
  int block;
  double idle_share;          // share of the time without a touch
  double longest_pause_s;     //
  double since_last_write_s;  // until the end; NaN where the log has no write
};

struct AccessDigest {
  std::int64_t records = 0;         // of all layers and steps
  int layer = 0;                    // the one shown
  std::vector<std::int64_t> steps;  // shown
  std::int64_t in_steps = 0;        // records of the layer in these steps
  std::vector<AccessMark>
      marks;  // in the order of time; one of each so many where in_steps is more
  std::vector<AccessCut> cuts;
  std::int64_t kept_pause_ns = 0;       // what is left of each
  std::size_t blocks = 0;               // that were touched
  std::vector<BlockIdle> keys, values;  // by block; one of each so many of a cache with more
};

struct AccessLimits {
  std::size_t steps = 5, marks = 8000, blocks = 1000;
};

/// `accesses` is /kv_access and `rows` /access_rows of one cell. Throws sweep::TableError where
/// they lack a column.
AccessDigest digest_accesses(const sweep::Table& accesses, const sweep::Table& rows,
                             const AccessLimits& limits = {});

}  // namespace analysis
