#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "workers/workload/random.hpp"
#include "workers/workload/trajectory.hpp"

namespace workload {

/// A time that the trace does not say.
inline constexpr double kUnrecorded = std::numeric_limits<double>::quiet_NaN();

/// A run of tokens of a prompt or an answer. Those of equal key are equal as far as both reach.
struct TraceSegment {
  std::uint64_t key;
  int tokens;  // at least 1
  SegmentKind kind;
};

/// One request of a recorded session. Times are in seconds from the session's start.
struct TraceTurn {
  int agent = 0;          // in TraceSession::agents
  int prompt_tokens = 0;  // at least 1
  int output_tokens = 0;  // at least 1

  // The first `shared_tokens` tokens are those of the turn `base`, of its prompt and perhaps its
  // answer. Behind them come `num_segments` segments from TraceSession::segments[first_segment] on:
  // the rest of the prompt, and the answer.
  int base = -1;  // an earlier turn of the session; -1: none
  int shared_tokens = 0;
  std::size_t first_segment = 0;
  int num_segments = 0;
  int same_as_before = 0;  // leading tokens that the turn before of its agent has

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
  double arrival_s = kUnrecorded;  // on the clock of the whole trace
  std::vector<TraceAgent> agents;  // agent 0 is the root
  std::vector<TraceTurn> turns;
  std::vector<TraceSegment> segments;
};

/// Calls visit(segment, turn that brought it, begin, end) for the segments behind the first `from`
/// tokens of a turn, prompt and answer, up to the first `end`. Those of the turn itself come first,
/// then those of its bases.
template <class Visit>
void visit_segments(const TraceSession& session, int turn, std::size_t from, std::size_t end,
                    Visit visit) {
  while (turn >= 0 && end > from) {
    const TraceTurn& of = session.turns[static_cast<std::size_t>(turn)];
    auto at = static_cast<std::size_t>(of.shared_tokens);
    for (int i = 0; i < of.num_segments && at < end; ++i) {
      const TraceSegment& segment =
          session.segments[of.first_segment + static_cast<std::size_t>(i)];
      const std::size_t stop = std::min(at + static_cast<std::size_t>(segment.tokens), end);
      if (stop > from) visit(segment, turn, at, stop);
      at = stop;
    }
    end = std::min(end, static_cast<std::size_t>(of.shared_tokens));
    turn = of.base;
  }
}

/// Mixes all bits of two numbers.
constexpr std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  return mixed_bits(a * 0x9e3779b97f4a7c15 + b + 0x632be59bd9b4e019);
}

/// A key of a name. Never 0.
std::uint64_t key_of(std::string_view name);

/// A recorded workload, whatever its format.
struct TraceSet {
  std::string source;  // file name
  std::string tokenizer = "counts of the trace";
  std::string assumed;             // by the converter, for people
  std::vector<std::string> notes;  // what was taken for what, one sentence each
  std::vector<std::string> tools;
  std::vector<TraceSession> sessions;
};

}  // namespace workload
