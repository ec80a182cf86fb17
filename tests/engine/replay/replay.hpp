#pragma once
#include <cstdint>
#include <iosfwd>
#include <string>

#include "workers/engine/scheduler/config.hpp"

namespace worker {

/// Replays a scheduling workload (JSON: a configuration and requests with arrival steps) through
/// the scheduler and the KV cache alone, as this release of vLLM decides. Writes every decision as
/// one JSON line per step, then a last line with the final state of the pool. Throws
/// engine::InputError, with the file and the field, when the workload is invalid or has a key that
/// the release does not have, before anything is written; and, after many steps, when its requests
/// evict each other forever.
void replay_scheduling(const std::string& workload_path, engine::Version version,
                       std::ostream& out);

/// What differs from a plain asynchronous replay.
enum class AsyncVariant : std::uint8_t {
  none,
  late_abort,  // aborts arrive while the engine waits for a batch, not between iterations
  eos,         // some requests generate an end of sequence before their last token
};

/// The same with asynchronous scheduling: each step is scheduled before the tokens of the one
/// before it are known. A line is an iteration of the engine's loop.
void replay_async_scheduling(const std::string& workload_path, engine::Version version,
                             AsyncVariant variant, std::ostream& out);

}  // namespace worker
