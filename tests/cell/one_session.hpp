#pragma once
#include "tests/cell/cell.hpp"

namespace support {

/// One session of a trace at a time, on a pool that never evicts.
inline Cell one_after_the_other(const std::string& path) {
  Cell cell;
  cell.set("workload.kind", "trace").set("workload.path", path).without("jps");
  cell.set("workload.arrivals", "live").set("workload.live", 1);
  return cell.set("engine.kv_tokens", 2'000'000).set("engine.max_model_len", 131'072);
}

}  // namespace support
