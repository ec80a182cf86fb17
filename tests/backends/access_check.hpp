#pragma once
#include "workers/backends/access_log.hpp"

namespace backends {

/// Checks a step's log against the schedule, for every logged layer and head:
/// - each block of a row's table has as many slots read as the row's query tiles see, and none
///   beyond them: for a decoded row the slots of its context, keys and values each;
/// - each block has as many slots written as it has new tokens, and none beyond them;
/// - no other block, slot, row, head, layer or step occurs;
/// - every access lies within its segment's time.
/// Throws AccessMismatch.
void check_accesses(const ExpectedStep& expected, const AccessPattern& pattern,
                    const LoggedParts& parts, std::span<const AccessSegment> segments);

/// Options that check every step so.
inline AccessLogOptions checked(AccessLogOptions options = {}) {
  options.check = check_accesses;
  return options;
}

}  // namespace backends
