#include "workers/workload/trace/working_set.hpp"

#include <algorithm>
#include <functional>
#include <ostream>
#include <queue>

#include "sweeps/text/text.hpp"

namespace workload {
namespace {

using engine::Nanos;

/// A change of what is in progress.
struct Change {
  Nanos at;
  int programs;
  int tokens;
  friend auto operator<=>(const Change&, const Change&) = default;
};

/// Plays programs on an engine which serves every turn at once.
class IdealPlay {
 public:
  IdealPlay(const Workload& workload, Nanos token_time)
      : workload_(workload), token_time_(token_time), ends_(workload.jobs.size()) {
    jobs_.resize(static_cast<std::size_t>(workload.programs()));
    for (std::uint32_t job = 0; job < workload.jobs.size(); ++job)
      jobs_[workload.program_of(job)].push_back(job);
  }

  /// Returns the end of the program's root.
  Nanos play(std::size_t program, Nanos start) {
    changes_.push_back({start, 1, 0});
    const std::uint32_t root = jobs_[program].front();
    for (const auto& [job, turn] : in_order(program)) serve(job, turn, start);
    for (const std::uint32_t job : jobs_[program])
      if (!ends_[job].empty()) changes_.push_back({ends_[job].back(), 0, -size_of(job, -1)});
    const Nanos end = ends_[root].back();
    changes_.push_back({end, -1, 0});
    for (const std::uint32_t job : jobs_[program]) ends_[job] = {};
    return end;
  }

  std::vector<Change> take() && {
    std::ranges::sort(changes_);  // what ends makes room for what begins
    return std::move(changes_);
  }

 private:
  using TurnAt = std::pair<std::uint32_t, int>;

  /// Every turn behind those that it waits for.
  std::vector<TurnAt> in_order(std::size_t program) const {
    std::vector<TurnAt> turns;
    for (const std::uint32_t job : jobs_[program])
      for (int turn = 0; turn < static_cast<int>(workload_.jobs[job].turns.size()); ++turn)
        turns.emplace_back(job, turn);
    std::ranges::stable_sort(turns, {}, [&](const TurnAt& turn) {
      return workload_.number_of(turn.first, turn.second);
    });
    return turns;
  }

  /// Tokens of a turn, or of the job's last one (-1).
  int size_of(std::uint32_t job, int turn) const {
    const std::vector<Turn>& turns = workload_.jobs[job].turns;
    const Turn& of = turn < 0 ? turns.back() : turns[static_cast<std::size_t>(turn)];
    return of.prompt_tokens + of.output_tokens;
  }

  void serve(std::uint32_t job, int turn, Nanos program_start) {
    std::vector<Nanos>& ends = ends_[job];
    Nanos at = turn > 0 ? ends.back() : program_start;
    Nanos gap =
        turn > 0 ? workload_.jobs[job].turns[static_cast<std::size_t>(turn) - 1].gap : Nanos{0};
    if (!workload_.agents.empty()) {
      const AgentPlace& place = workload_.agents[job];
      if (turn == 0) gap = place.lead;
      for (const TurnWait& wait : place.waits)
        if (wait.turn == turn)
          at = std::max(at, ends_[wait.job][static_cast<std::size_t>(wait.on)]);
    }
    at += gap;
    changes_.push_back({at, 0, size_of(job, turn) - (turn > 0 ? size_of(job, turn - 1) : 0)});
    const int outputs = workload_.jobs[job].turns[static_cast<std::size_t>(turn)].output_tokens;
    ends.push_back(at + outputs * token_time_);
  }

  const Workload& workload_;
  Nanos token_time_;
  std::vector<std::vector<std::uint32_t>> jobs_;  // by program, the root first
  std::vector<std::vector<Nanos>> ends_;          // by job, of the turns played so far
  std::vector<Change> changes_;
};

std::vector<Change> changes_of(const Workload& workload, std::span<const Nanos> arrivals,
                               int most_live, Nanos token_time) {
  IdealPlay play(workload, token_time);
  std::priority_queue<Nanos, std::vector<Nanos>, std::greater<>> live;  // ends
  for (std::size_t program = 0; program < arrivals.size(); ++program) {
    Nanos start = arrivals[program];
    if (most_live > 0 && static_cast<int>(live.size()) == most_live) {
      start = std::max(start, live.top());
      live.pop();
    }
    live.push(play.play(program, start));
  }
  return std::move(play).take();
}

}  // namespace

std::vector<WorkingSet> working_set(const Workload& workload, std::span<const Nanos> arrivals,
                                    int most_live, Nanos token_time, int parts) {
  const std::vector<Change> changes = changes_of(workload, arrivals, most_live, token_time);
  const Nanos end = std::max(changes.back().at, Nanos{1});
  std::vector<WorkingSet> sets(static_cast<std::size_t>(parts));
  WorkingSet now;
  auto next = changes.begin();
  const auto apply = [&] {
    now.programs += next->programs;
    now.tokens += next->tokens;
    ++next;
  };
  for (int i = 0; i < parts; ++i) {
    const Nanos from = end / parts * i, until = i + 1 < parts ? from + end / parts : end;
    while (next != changes.end() && next->at <= from) apply();
    WorkingSet& set = sets[static_cast<std::size_t>(i)] = now;
    set.from_s = engine::to_seconds(from);
    while (next != changes.end() && next->at < until) {
      apply();
      set.programs = std::max(set.programs, now.programs);
      set.tokens = std::max(set.tokens, now.tokens);
    }
  }
  return sets;
}

void print(std::ostream& out, const std::vector<WorkingSet>& sets,
           const std::vector<KvPool>& pools) {
  using sweep::formatted;
  out << formatted("%-10s%8s%14s", "time (s)", "jobs", "tokens");
  for (const KvPool& pool : pools) out << formatted("%15s", pool.name.c_str());
  out << '\n' << formatted("%-18s%14s", "pool", "");
  for (const KvPool& pool : pools) out << formatted("%15.0f", pool.tokens);
  out << '\n';
  for (const WorkingSet& set : sets) {
    out << formatted("%-10.0f%8d%14.0f", set.from_s, set.programs, set.tokens);
    for (const KvPool& pool : pools) out << formatted("%14.2fx", set.tokens / pool.tokens);
    out << '\n';
  }
}

}  // namespace workload
