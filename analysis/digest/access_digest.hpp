#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sweeps/tables/table.hpp"

namespace analysis {

// The access log of a cell (docs/results.md), reduced for a page. It covers the first logged
// layer. Times are nanoseconds from the first access of that layer in the steps shown.

/// The columns of /kv_access, without copies: a log may have 20 million rows. Throws
/// sweep::TableError if the table lacks one.
struct AccessLog {
  explicit AccessLog(const sweep::Table& table);
  double end(std::size_t row) const { return start[row] + duration[row]; }

  const std::vector<std::int64_t>& step;
  const std::vector<std::int32_t>& layer;
  const std::vector<std::int8_t>& kind;
  const std::vector<std::int32_t>&block, &first_slot, &n_slots, &batch_row, &kv_head;
  const std::vector<double>&start, &duration;
};

struct AccessMark {
  std::int64_t t_ns, dur_ns, step;
  int kind;  // sweep::KvAccessKind
  int block, first_slot, n_slots, kv_head;
  int job;  // the job of the request that it served; -1 if the log does not tell
};

/// A pause of all accesses that a chart shortens by `lost_ns`.
struct AccessCut {
  std::int64_t from_ns, lost_ns;
};

struct AccessDigest {
  std::int64_t records = 0;         // in all layers and steps
  int layer = 0;                    // the layer shown
  std::vector<std::int64_t> steps;  // the steps shown
  std::int64_t in_steps = 0;        // records of the layer in these steps
  std::vector<AccessMark>
      marks;  // in order of time; a random sample if there are too many in the steps
  std::vector<AccessCut> cuts;
  std::int64_t kept_pause_ns = 0;  // length that remains of each cut pause
};

struct AccessLimits {
  std::size_t steps = 5, marks = 8000;
};

/// `accesses` is /kv_access and `rows` /access_rows of one cell. Throws sweep::TableError if they
/// lack a column.
AccessDigest digest_accesses(const sweep::Table& accesses, const sweep::Table& rows,
                             const AccessLimits& limits = {});

/// For the keys and for the values of each block that the first logged layer accessed: the share of
/// the time between the layer's first access and its last in which nothing accessed them.
std::vector<double> idle_shares(const sweep::Table& accesses);

}  // namespace analysis
