#pragma once
#include <sys/types.h>

#include <vector>

#include "tests/support/shared.hpp"

namespace support {

/// Waits for the ends of processes that may be of others, for up to 30 s each; whether they came.
bool all_end(const std::vector<pid_t>& pids);

}  // namespace support
