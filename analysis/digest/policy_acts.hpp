#pragma once
#include <cstdint>

#include "sweeps/tables/table.hpp"

namespace analysis {

/// What a policy did in a cell, counted in its events and turns.
struct PolicyActs {
  std::int64_t pins = 0;                 // times that a finished turn's KV was pinned
  std::int64_t pins_used = 0;            // pins during which the job's next turn arrived
  std::int64_t evicted_blocks = 0;       // of the GPU's pool
  std::int64_t host_evicted_blocks = 0;  // of host memory, before anything read them
  std::int64_t prefetches = 0;
  double overtaking = 0;  // share of the turns admitted before one that had arrived earlier
};

PolicyActs acts_of(const sweep::Table& turns, const sweep::Table& kv_events);

}  // namespace analysis
