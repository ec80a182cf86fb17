#pragma once
#include <vector>

#include "workers/engine/base/request.hpp"
#include "workers/engine/cache/block_watch.hpp"
#include "workers/engine/step/transfer_queue.hpp"

namespace engine {

enum class JobPhase : std::uint8_t {
  unknown,  // nothing of it is cached, or the job has ended
  served,   // one of its turns holds blocks of its own
  away,     // its tool is running
  back,     // its next turn is waiting
};

inline bool paused(JobPhase phase) { return phase == JobPhase::away || phase == JobPhase::back; }

/// A load issued before its turn arrived. Its blocks are held against eviction until the turn uses
/// them, or until the turn is overdue.
struct Fetch {
  enum class State : std::uint8_t { none, moving, held };
  State state = State::none;
  TransferId transfer = TransferId::none;
  bool kept_when_there = true;  // false: what has arrived is not held and may be evicted at once
  bool cancelled = false;
  int hits = 0;  // leading `blocks` that were on the GPU before the load
  std::vector<BlockId> blocks;
  std::vector<ContentId> contents;  // of the blocks
  Nanos use_at{0};
  Nanos since{0};        // start of the hold
  Nanos until{0};        // end of the hold
  bool awaited = false;  // the turn has arrived before its KV
};

/// A job between two turns, and what is cached of it.
struct PausedJob : WatchedKv {
  JobId id{};
  JobPhase phase = JobPhase::unknown;
  int turn = 0;                      // the last finished turn
  Nanos since{0};                    // away: end of that turn; back: arrival of the next
  Nanos overdue{0};                  // away: the next turn is expected before this time
  const Request* request = nullptr;  // back
  RequestId request_id{};

  int stored = 0;  // the host has none of its blocks from this index on

  Fetch fetch;
  int num_fetches = 0;     // in this gap
  bool refused = false;    // in this gap a load was refused, and the event recorded
  Nanos estimated_at{-1};  // when `use_at` was estimated
  Nanos use_at{0};         // the turn is unlikely to be served before this time

  TurnRef next_turn() const { return {id, turn + 1}; }
};

}  // namespace engine
