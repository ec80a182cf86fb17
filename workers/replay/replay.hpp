#pragma once
#include <iosfwd>
#include <string>

namespace worker {

/// Replays a scheduling workload (JSON: a configuration and requests with arrival steps) through
/// the scheduler and the KV cache alone. Writes every decision as one JSON line per step, then a
/// last line with the final state of the pool. Throws engine::InputError, with the file and the
/// field, when the workload is invalid, before anything is written; and, after many steps, when its
/// requests evict each other forever.
void replay_scheduling(const std::string& workload_path, std::ostream& out);

}  // namespace worker
