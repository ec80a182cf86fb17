#pragma once
#include <vector>

#include "workers/engine/request.hpp"
#include "workers/engine/transfer_queue.hpp"

namespace engine {

enum class JobPhase : std::uint8_t {
  unknown,  // nothing of it is cached, or it is over
  served,   // a turn of it holds its own blocks
  away,     // its tool runs
  back,     // its next turn waits
};

/// A load that was issued before its turn arrived. Its blocks are kept from eviction until the
/// turn uses them, or until it should have arrived.
struct Fetch {
  enum class State : std::uint8_t { none, moving, held };
  State state = State::none;
  TransferId transfer = TransferId::none;
  bool kept_when_there = true;  // otherwise what has arrived may be evicted at once
  bool cancelled = false;
  int hits = 0;  // the first of `blocks` were on the GPU before
  std::vector<BlockId> blocks;
  std::vector<BlockHash> hashes;
  std::vector<HostSlot> slots;  // where the blocks behind the hits come from
  Nanos use_at{0};
  Nanos since{0};            // held
  Nanos until{0};            // held no longer
  Request* waits = nullptr;  // the turn, when it came before its KV
};

/// A job between two turns, by what is cached of it.
struct PausedJob {
  JobId id{};
  JobPhase phase = JobPhase::unknown;
  int turn = 0;                      // that was finished last
  Nanos since{0};                    // away: end of that turn; back: arrival of the next
  Nanos overdue{0};                  // away: the next turn should have come by then
  const Request* request = nullptr;  // back
  RequestId request_id{};

  std::vector<BlockHash> hashes;  // of the full blocks that the turn left behind
  std::vector<BlockId> cached;    // the first of these, as far as the GPU has them
  int stored = 0;                 // from here on the host has none of them

  Fetch fetch;
  int num_fetches = 0;     // in this gap
  bool refused = false;    // in this gap, and said so
  Nanos estimated_at{-1};  // when `use_at` was estimated
  Nanos use_at{0};         // the turn will hardly be served before

  TurnRef next_turn() const { return {id, turn + 1}; }
};

}  // namespace engine
