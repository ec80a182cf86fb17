#pragma once
#include <span>
#include <stdexcept>
#include <vector>

#include "kernels/access_log.hpp"
#include "workers/backends/access_expectation.hpp"

namespace backends {

/// The log of a step is not what the schedule asks for: kernels read or wrote something else, or
/// the log is broken. what() says where.
struct AccessMismatch : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct AccessSegment {
  const kernels::SegmentHeader* header;
  const kernels::AccessRecord* records;  // [header->count]
};

/// Which layers and heads are logged.
struct LoggedParts {
  std::vector<int> layers, heads;
};

/// Holds a step's log against the schedule, for every logged layer and head:
/// - of each block of a row's table as many slots are read as the row's query tiles see, and none
///   outside those: for a decoded row the slots of its context, keys and values each;
/// - of each block as many slots are written as it has new tokens, and none outside those;
/// - no other block, slot, row, head, layer or step occurs;
/// - every access lies within its segment's time.
/// Throws AccessMismatch.
void check_accesses(const ExpectedStep& expected, const AccessPattern& pattern,
                    const LoggedParts& parts, std::span<const AccessSegment> segments);

}  // namespace backends
