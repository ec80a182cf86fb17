#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "workers/workload/trace/session.hpp"
#include "workers/workload/trajectory.hpp"

namespace workload {

enum class JobOrder : std::uint8_t {
  file,      // in the order of the lines
  id,        // by job id, bytewise
  shuffled,  // permuted by the seed; depends on the set of ids, not on the file's order
};

/// Positions of `ids` in this order.
std::vector<std::size_t> order_of_choice(JobOrder order, std::uint64_t seed,
                                         const std::vector<std::string>& ids);

/// The time from the end of the turns that a turn waits for to its own start.
enum class Pacing : std::uint8_t {
  think,         // the client's own time, a tool or a person; else as the others have it
  recorded,      // the turn starts as long after its agent's previous one as it did
  end_to_start,  // the recorded server's idle time
};

/// The treatment of a session with a turn that the model cannot hold.
enum class TooLong : std::uint8_t {
  drop,  // it is left out
  cut,   // its agent ends before that turn
};

/// How a trace is replayed.
struct PlayRules {
  Pacing pacing = Pacing::think;
  double gap_cap_s = std::numeric_limits<double>::infinity();  // longest time before a turn
  double unrecorded_gap_s = 0;  // before turns of which the trace does not say it
  double time_scale = 1;        // factor on all recorded times
  TooLong too_long = TooLong::drop;
  int max_context = std::numeric_limits<int>::max();  // most tokens of a turn, prompt and answer
  bool random_start = false;     // inside the session, behind a turn that computes the prefix
  std::optional<int> turns;      // most turns of a root, the computed prefix not counted
  int min_turns = 1;             // sessions with fewer turns are left out
  std::optional<int> max_turns;  // and those with more
  std::optional<int> sessions;   // unset: each once; more than there are: some again
  JobOrder order = JobOrder::file;
  std::uint64_t seed = 42;  // of order and starts
};

struct PlayedTrace {
  Workload workload;
  std::vector<double> arrivals_s;  // of the programs, as recorded; NaN where they are not
  std::string left_out;            // for people
};

/// The programs to replay. Throws engine::InputError when no session is left.
PlayedTrace play(std::shared_ptr<const TraceSet> set, const PlayRules& rules,
                 std::uint32_t vocabulary);

}  // namespace workload
