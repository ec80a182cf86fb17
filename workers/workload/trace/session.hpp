#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace workload {

/// A time that the trace does not say.
inline constexpr double kUnrecorded = std::numeric_limits<double>::quiet_NaN();

/// One request of a recorded session. Times are in seconds from the session's start.
struct TraceTurn {
  int agent = 0;          // in TraceSession::agents
  int prompt_tokens = 0;  // at least 1
  int output_tokens = 0;  // at least 1

  // What the prompt consists of: its first `shared_tokens` tokens are those of the turn `base`,
  // then come the blocks named by `num_ids` ids of TraceSession::ids from `first_id` on, then
  // tokens that no other prompt has.
  int base = -1;  // an earlier turn of the session; -1: none
  int shared_tokens = 0;
  std::size_t first_id = 0;
  int num_ids = 0;

  double start_s = kUnrecorded;
  double api_s = kUnrecorded;    // how long the recorded server took
  double think_s = kUnrecorded;  // client time before the request, after what it waits for
  int tool = -1;                 // called by the answer; in TraceSet::tools
  std::vector<int> waits_for;    // turns of the session which must end first; empty: starts it
};

struct TraceAgent {
  std::string name;  // empty: the root
  int parent = 0;    // the agent which spawned it; the root's is the root
};

/// One recorded program: a graph of turns, in an order in which each turn comes behind the turns
/// that it waits for. The turns of an agent stand in the order in which they run.
struct TraceSession {
  std::string id;
  std::string file;  // where it was read
  int line = 0;
  std::uint64_t scope = 0;  // what ids mean: sessions of equal scope share the blocks of equal ids
  int block_tokens = 0;     // tokens of a block that an id names; 0: the trace has no ids
  /// Each prompt begins with the turn in front of it, answer included. Otherwise answers occur in
  /// no prompt.
  bool is_transcript = false;
  double arrival_s = kUnrecorded;  // on the clock of the whole trace
  std::vector<TraceAgent> agents;  // agent 0 is the root
  std::vector<TraceTurn> turns;
  std::vector<std::uint64_t> ids;
};

/// The ids of all blocks of a turn's prompt that have one.
std::vector<std::uint64_t> ids_of(const TraceSession& session, int turn);

/// A recorded workload, whatever its format.
struct TraceSet {
  std::string source;  // file name
  std::string format;
  std::vector<std::string> notes;  // what was taken for what, one sentence each
  std::vector<std::string> tools;
  std::vector<TraceSession> sessions;
};

}  // namespace workload
