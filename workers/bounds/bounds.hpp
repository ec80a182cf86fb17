#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "workers/backends/sim/cost_model.hpp"
#include "workers/workload/trajectory.hpp"

namespace bounds {

/// A turn's needs under any policy, in tokens and seconds.
struct TurnNeed {
  int prompt = 0;
  int output = 1;
  /// Tokens at the end of the prompt that no cache can have: neither an earlier turn of the job nor
  /// any other job computes their blocks. At least 1.
  int fresh = 1;
  int unshared = 0;  // tokens of the prompt in blocks that no other job has
  /// Before the next turn: after the end of this one, or after its start.
  double gap_s = 0;
  std::optional<double> since_start_s;
};

/// A job as the client measures it: one turn after the other, from its arrival to its last token.
/// The root's turns alone where a program has subagents; they may wait for subagents, too.
using JobNeed = std::vector<TurnNeed>;

/// By program.
std::vector<JobNeed> needs_of(const workload::Workload& workload, int block_size);

/// Work for a server of unit speed that may interrupt it at any time.
struct ServerJob {
  double release_s = 0;
  double work_s = 0;
};

/// The sum of completion times when the job with the least work left is always served first, which
/// no other schedule of the server can lower (Schrage 1968).
double least_completion_sum(std::vector<ServerJob> jobs);

/// Limits of a step under any policy.
struct Limits {
  int step_tokens = 2048;
  int step_requests = 256;
  std::int64_t pool_tokens = 0;
};

/// Seconds below which no policy can bring the mean time from a job's arrival to its last token.
struct MeanBound {
  double alone_s = 0;  // every job has the GPU to itself
  // A server of unit speed serves the jobs' work, shortest remaining first; empty where not known.
  std::optional<double> work_s;    // GPU time, all turns
  std::optional<double> cuts_s;    // GPU time, from some turn on; turns before it alone
  std::optional<double> memory_s;  // KV pool times time, from some turn on

  double best_s() const;
  /// "alone", "work", "cuts" or "memory": which of them best_s() is.
  std::string label() const;
};

/// A bound from jobs alone. `step_tokens` of 0: a step may have any number of tokens.
double alone_mean(std::span<const JobNeed> jobs, const backends::CostModel& cost, int step_tokens);

/// All bounds that the cost model admits. `arrivals_s`: by job. For schedulers with these limits in
/// every step, and arrivals that wait for no other job.
MeanBound bound_mean(std::span<const JobNeed> jobs, std::span<const double> arrivals_s,
                     const backends::CostModel& cost, const Limits& limits);

/// A turn of a job that brings work to one server.
struct TurnShare {
  double alone_s = 0;
  double gap_s = 0;  // at least, between this turn's end and the next one's start
  double work_s = 0;
};
/// Lower bounds on mean completion time. Turns before the cut take their time alone; those after it
/// are one piece of work. By cut: after 0, 25, 50, 75 % of each job's turns, and before its last.
std::vector<double> means_by_cut(std::span<const std::vector<TurnShare>> jobs,
                                 std::span<const double> arrivals_s);

}  // namespace bounds
