#pragma once
#include <cstdint>

#include "kernels/access_log.hpp"
#include "workers/backends/index_ranges.hpp"

namespace backends {

/// Which accesses of a cell are logged.
struct AccessLogOptions {
  IndexRanges layers = {}, heads = {}, steps = {};
  std::int64_t max_records = 20'000'000;  // logging stops before the step that would exceed it
  bool fence_writes = false;  // time a fence after each write, which changes what is measured
};

}  // namespace backends
