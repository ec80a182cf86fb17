#pragma once
// Private to this room: the rows of the table, in parts.
#include "workers/binding/keys.hpp"

namespace worker {

std::vector<KeyRow> rows_of_cell();    // what runs on what: gpu, model, weights.*, sim.*, record.*
std::vector<KeyRow> rows_of_engine();  // engine.*
std::vector<KeyRow> rows_of_policy();  // policy and policy.*, except the host tier's
std::vector<KeyRow> rows_of_tier();    // the host tier and preemption
std::vector<KeyRow> rows_of_workload();  // workload.* and jps
std::vector<KeyRow> rows_of_server();    // server.*

}  // namespace worker
