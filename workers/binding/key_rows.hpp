#pragma once
// Private to this room: the rows of the table, in parts.
#include "workers/binding/keys.hpp"

namespace worker {

/// The rows of all groups, one group after another.
inline std::vector<Key> rows_in(const std::vector<std::vector<Key>>& groups) {
  std::vector<Key> rows;
  for (const std::vector<Key>& group : groups) rows.insert(rows.end(), group.begin(), group.end());
  return rows;
}

std::vector<Key> rows_of_cell();      // what runs on what: gpu, model, weights.*, sim.*, record.*
std::vector<Key> rows_of_engine();    // engine.*
std::vector<Key> rows_of_policy();    // policy and policy.*, except the host tier's
std::vector<Key> rows_of_tier();      // the host tier and preemption
std::vector<Key> rows_of_workload();  // workload.* and jps
std::vector<Key> rows_of_server();    // server.*

}  // namespace worker
