#pragma once
#include <span>
#include <stdexcept>
#include <vector>

#include "kernels/access_log.hpp"
#include "workers/backends/access_expectation.hpp"

namespace backends {

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

/// Checks a step's log against the schedule, for every logged layer and head:
/// - each block of a row's table has as many slots read as the row's query tiles see, and none
///   beyond them: for a decoded row the slots of its context, keys and values each;
/// - each block has as many slots written as it has new tokens, and none beyond them;
/// - no other block, slot, row, head, layer or step occurs;
/// - every access lies within its segment's time.
/// Throws AccessMismatch.
void check_accesses(const ExpectedStep& expected, const AccessPattern& pattern,
                    const LoggedParts& parts, std::span<const AccessSegment> segments);

}  // namespace backends
