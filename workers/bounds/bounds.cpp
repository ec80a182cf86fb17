#include "workers/bounds/bounds.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "workers/bounds/turn_blocks.hpp"

namespace bounds {
namespace {

using engine::BlockHash;
using workload::Job;
using workload::Workload;

constexpr std::uint32_t kSeveral = 0xffffffff;
using Owners = std::unordered_map<BlockHash, std::uint32_t, HashOf>;  // the job, or kSeveral
using Blocks = std::unordered_set<BlockHash, HashOf>;

Owners owners_of(const Workload& workload, int block_size) {
  Owners owners;
  for_each_turn(workload, block_size, [&](std::uint32_t job, std::size_t, auto hashes) {
    for (const BlockHash& hash : hashes) {
      const auto [owner, is_new] = owners.try_emplace(hash, job);
      if (owner->second != job) owner->second = kSeveral;
    }
  });
  return owners;
}

TurnNeed need_of(const Job& job, std::size_t turn, int known_tokens, int shared_tokens) {
  const workload::Turn& of = job.turns[turn];
  TurnNeed need;
  need.prompt = of.prompt_tokens;
  need.output = std::max(1, of.output_tokens);
  const int known = std::max(known_tokens, workload::computed_before(job, turn));
  need.fresh = std::max(1, of.prompt_tokens - known);
  need.unshared = std::max(0, of.prompt_tokens - shared_tokens);
  need.gap_s = engine::to_seconds(of.gap);
  return need;
}

void set_gaps_of_agents(const workload::AgentPlace& place, JobNeed& need) {
  for (std::size_t turn = 1; turn < place.since_start.size() && turn < need.size(); ++turn)
    if (const auto since = place.since_start[turn])
      need[turn - 1].since_start_s = engine::to_seconds(*since);
}

/// The steps of a turn that has the GPU to itself.
struct TurnAlone {
  double prefill_s = 0;
  double decode_s = 0;
  int prefill_steps = 1;

  double seconds() const { return prefill_s + decode_s; }
};

using backends::CostModel;
using backends::StepLine;
using backends::StepShape;

double seconds(const CostModel& cost, const StepShape& step) {
  return engine::to_seconds(cost.step_time(step));
}

/// A step that generates a token behind a context of `context` tokens: a decode, or the last of a
/// prefill that a preemption made necessary, which computes one token at least.
double token_seconds(const CostModel& cost, int context) {
  StepShape step;
  step.tokens = step.logits_rows = 1;
  StepShape again = step;
  step.decodes = 1;
  step.decode_context_tokens = context;
  again.prefill_tokens = 1;
  again.prefill_kv_tokens = context;
  again.prefill_context_products = context;
  return std::min(seconds(cost, step), seconds(cost, again));
}

double fresh_pairs(const TurnNeed& turn) {
  return turn.fresh * (turn.prompt - turn.fresh + (turn.fresh + 1) / 2.0);
}

/// KV tokens that the prefill steps read at least: the last all of the prompt, the others what
/// precedes the fresh tokens.
double prefill_reads(const TurnNeed& turn, int prefill_steps) {
  return turn.prompt + (prefill_steps - 1.0) * (turn.prompt - turn.fresh);
}

/// At least `steps` steps prefill the fresh tokens, and the last samples the first token. More
/// steps take longer, since step_time() is subadditive, and none are faster than equal ones, since
/// it is convex. Counts of the mean step are rounded down.
double prefill_seconds(const TurnNeed& turn, const CostModel& cost, int steps) {
  StepShape mean;
  mean.tokens = mean.prefill_tokens = turn.fresh / steps;
  mean.prefill_context_products = fresh_pairs(turn) / steps;
  mean.prefill_kv_tokens = static_cast<std::int64_t>(prefill_reads(turn, steps) / steps);
  const double without_sample = (steps - 1) * seconds(cost, mean);
  mean.logits_rows = 1;
  const double rounding = steps == 1 ? 0 : steps * 1e-9;  // of steps to nanoseconds
  return without_sample + seconds(cost, mean) - rounding;
}

/// `step_tokens` of 0: no limit.
TurnAlone turn_alone(const TurnNeed& turn, const CostModel& cost, int step_tokens) {
  TurnAlone alone;
  if (step_tokens > 0) alone.prefill_steps = (turn.fresh + step_tokens - 1) / step_tokens;
  alone.prefill_s = prefill_seconds(turn, cost, alone.prefill_steps);
  for (int token = 1; token < turn.output; ++token)
    alone.decode_s += token_seconds(cost, turn.prompt + token);
  return alone;
}

double least_gap(const TurnNeed& turn, double alone_s) {
  if (turn.since_start_s) return std::max(0.0, *turn.since_start_s - alone_s);
  return turn.gap_s;
}

using Shares = std::vector<std::vector<TurnShare>>;
using Alone = std::vector<std::vector<TurnAlone>>;

Alone all_alone(std::span<const JobNeed> jobs, const CostModel& cost, int step_tokens) {
  Alone all;
  for (const JobNeed& job : jobs) {
    std::vector<TurnAlone>& turns = all.emplace_back();
    for (const TurnNeed& turn : job) turns.push_back(turn_alone(turn, cost, step_tokens));
  }
  return all;
}

template <class WorkOf>
Shares shares(std::span<const JobNeed> jobs, const Alone& alone, WorkOf work_of) {
  Shares all(jobs.size());
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    for (std::size_t turn = 0; turn < jobs[job].size(); ++turn) {
      const TurnNeed& need = jobs[job][turn];
      const TurnAlone& steps = alone[job][turn];
      all[job].push_back({steps.seconds(), least_gap(need, steps.seconds()), work_of(need, steps)});
    }
  }
  return all;
}

double mean_alone(const Shares& jobs) {
  double sum = 0;
  for (const auto& job : jobs)
    for (std::size_t turn = 0; turn < job.size(); ++turn)
      sum += job[turn].alone_s + (turn + 1 < job.size() ? job[turn].gap_s : 0);
  return sum / static_cast<double>(std::max<std::size_t>(1, jobs.size()));
}

/// GPU time of a turn if a step takes at least line.fixed_s + a share of each request in it. The
/// fixed part, too, can be divided among the requests: by their tokens, of which a step has at most
/// step_tokens, or equally, as there are at most step_requests; or partly so (`by_tokens`).
double gpu_seconds(const TurnNeed& turn, const TurnAlone& alone, const StepLine& line,
                   const Limits& limits, double by_tokens) {
  const double decodes = turn.output - 1, tokens = turn.fresh + decodes;
  const double steps = alone.prefill_steps + decodes;
  const double kv_tokens = prefill_reads(turn, alone.prefill_steps) + decodes * turn.prompt +
                           decodes * (decodes + 1) / 2;
  return tokens * (line.token_s + by_tokens * line.fixed_s / limits.step_tokens) +
         steps * (1 - by_tokens) * line.fixed_s / limits.step_requests +
         kv_tokens * line.kv_token_s + fresh_pairs(turn) * line.pair_s;
}

/// Every way to divide a step's time is a bound of its own, so the largest counts.
void bound_by_work(std::span<const JobNeed> jobs, std::span<const double> arrivals_s,
                   const CostModel& cost, const Limits& limits, const Alone& alone,
                   MeanBound& bound) {
  for (const int part : {limits.step_tokens, 16, 4, 1}) {
    const auto line = cost.line_below(std::max(1, limits.step_tokens / part));
    if (!line) return;
    for (const double by_tokens : {0.0, 0.5, 1.0}) {
      const auto means =
          means_by_cut(shares(jobs, alone,
                              [&](const TurnNeed& turn, const TurnAlone& steps) {
                                return gpu_seconds(turn, steps, *line, limits, by_tokens);
                              }),
                       arrivals_s);
      bound.work_s = std::max(bound.work_s.value_or(0), means.front());
      bound.cuts_s = std::max(bound.cuts_s.value_or(0), std::ranges::max(means));
    }
  }
}

}  // namespace

std::vector<JobNeed> needs_of(const Workload& workload, int block_size) {
  const Owners owners = owners_of(workload, block_size);
  std::vector<JobNeed> needs(static_cast<std::size_t>(workload.programs()));
  Blocks own;  // of earlier turns of the job
  for_each_turn(workload, block_size, [&](std::uint32_t job, std::size_t turn, auto hashes) {
    if (turn == 0) own.clear();
    if (workload.root_of(job) == job) {
      // A block's hash includes all before it, so that the blocks that others have come first.
      const auto is_shared = [&](const BlockHash& hash) { return owners.at(hash) == kSeveral; };
      const auto is_known = [&](const BlockHash& hash) {
        return is_shared(hash) || own.contains(hash);
      };
      const auto leading = [&](const auto& is) {
        return static_cast<int>(std::ranges::find_if_not(hashes, is) - hashes.begin()) * block_size;
      };
      needs[workload.program_of(job)].push_back(
          need_of(workload.jobs[job], turn, leading(is_known), leading(is_shared)));
    }
    own.insert(hashes.begin(), hashes.end());
  });
  for (std::uint32_t job = 0; job < workload.agents.size(); ++job)
    if (workload.root_of(job) == job)
      set_gaps_of_agents(workload.agents[job], needs[workload.program_of(job)]);
  return needs;
}

double least_completion_sum(std::vector<ServerJob> jobs) {
  std::ranges::sort(jobs, {}, &ServerJob::release_s);
  std::priority_queue<double, std::vector<double>, std::greater<>> left;
  double now = 0, sum = 0;
  for (std::size_t next = 0; next < jobs.size() || !left.empty();) {
    if (left.empty()) now = std::max(now, jobs[next].release_s);
    for (; next < jobs.size() && jobs[next].release_s <= now; ++next) left.push(jobs[next].work_s);
    const double work = left.top();
    left.pop();
    if (next < jobs.size() && now + work > jobs[next].release_s) {
      left.push(work - (jobs[next].release_s - now));
      now = jobs[next].release_s;
      continue;
    }
    now += work;
    sum += now;
  }
  return sum;
}

double MeanBound::best_s() const {
  return std::max({alone_s, work_s.value_or(0), cuts_s.value_or(0), memory_s.value_or(0)});
}

std::string MeanBound::label() const {
  const double best = best_s();
  if (alone_s == best) return "alone";
  if (work_s == best) return "work";
  return cuts_s == best ? "cuts" : "memory";
}

std::vector<double> means_by_cut(std::span<const std::vector<TurnShare>> jobs,
                                 std::span<const double> arrivals_s) {
  constexpr std::array kCuts = {0.0, 0.25, 0.5, 0.75, 1.0};  // the last: before the last turn
  std::vector<double> means;
  for (const double cut : kCuts) {
    std::vector<ServerJob> server;
    double sum = 0;
    for (std::size_t job = 0; job < jobs.size(); ++job) {
      const std::vector<TurnShare>& turns = jobs[job];
      const auto first = std::min(static_cast<std::size_t>(cut * static_cast<double>(turns.size())),
                                  turns.size() - 1);
      ServerJob& rest = server.emplace_back(ServerJob{arrivals_s[job], 0});
      for (std::size_t turn = 0; turn < turns.size(); ++turn) {
        if (turn < first) rest.release_s += turns[turn].alone_s + turns[turn].gap_s;
        if (turn >= first) rest.work_s += turns[turn].work_s;
      }
      sum -= arrivals_s[job];
    }
    sum += least_completion_sum(std::move(server));
    means.push_back(sum / static_cast<double>(jobs.size()));
  }
  return means;
}

double alone_mean(std::span<const JobNeed> jobs, const CostModel& cost, int step_tokens) {
  const auto no_work = [](const TurnNeed&, const TurnAlone&) { return 0.0; };
  return mean_alone(shares(jobs, all_alone(jobs, cost, step_tokens), no_work));
}

MeanBound bound_mean(std::span<const JobNeed> jobs, std::span<const double> arrivals_s,
                     const CostModel& cost, const Limits& limits) {
  const Alone alone = all_alone(jobs, cost, limits.step_tokens);
  // A request that decodes holds its context in every step: of the pool's time, that share is its.
  const Shares memory = shares(jobs, alone, [&](const TurnNeed& turn, const TurnAlone& steps) {
    return steps.decode_s * turn.unshared / static_cast<double>(limits.pool_tokens);
  });
  MeanBound bound;
  bound.alone_s = mean_alone(memory);
  bound.memory_s = std::ranges::max(means_by_cut(memory, arrivals_s));
  bound_by_work(jobs, arrivals_s, cost, limits, alone, bound);
  return bound;
}

}  // namespace bounds
