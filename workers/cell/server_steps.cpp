#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "workers/cell/server_cell.hpp"
#include "workers/record/figures.hpp"
#include "workers/record/recorder.hpp"

namespace worker {
namespace {

/// A turn as rows name it.
struct Turn {
  std::int32_t job = 0, turn = 0;
  int prompt_tokens = 0;
};

/// The turns of a load by the ids that the server gave their requests.
class Turns {
 public:
  explicit Turns(const workload::Workload& workload) {
    for (std::uint32_t job = 0; job < workload.jobs.size(); ++job)
      for (int turn = 0; const workload::Turn& each : workload.jobs[job].turns) {
        turns_[workload.jobs[job].id + "-t" + std::to_string(turn)] = {
            static_cast<std::int32_t>(workload.program_of(job)), workload.number_of(job, turn),
            each.prompt_tokens};
        ++turn;
      }
  }

  /// vLLM writes "cmpl-" before the request_id of a body, and the number of the prompt and random
  /// digits behind it.
  const Turn* find(std::string_view id) const {
    constexpr std::string_view kPrefix = "cmpl-";
    constexpr int kMostParts = 2;
    if (id.starts_with(kPrefix)) id.remove_prefix(kPrefix.size());
    for (int part = 0; part <= kMostParts; ++part) {
      const auto found = turns_.find(std::string(id));
      if (found != turns_.end()) return &found->second;
      id = id.substr(0, id.rfind('-'));
    }
    return nullptr;
  }

 private:
  std::unordered_map<std::string, Turn> turns_;
};

/// Figures that follow from logged steps: blocks in use and waits for copies are not known.
constexpr std::string_view kOfSteps[] = {
    "queue_mean_s",    "queue_p50_s",     "queue_p99_s",     "queue_max_s",  "admission_mean_s",
    "admission_p50_s", "admission_p99_s", "admission_max_s", "steps",        "computed_tok",
    "forwards",        "prefill_tok_s",   "decode_tok_s",    "load_stall_s", "kv_late_p99_s",
    "h2d_bytes",       "d2h_bytes",       "evictions"};

sweep::SchedKind recorded(server::Taken taken) {
  if (taken == server::Taken::fresh) return sweep::SchedKind::fresh;
  return taken == server::Taken::resumed ? sweep::SchedKind::resumed : sweep::SchedKind::running;
}

template <class T>
std::vector<T>& column(sweep::Table& table, std::string_view name) {
  return std::get<std::vector<T>>(
      std::ranges::find(table.columns, name, &sweep::Column::name)->data);
}

/// Where the time of a turn goes, by the rules of engine::TimeSplit.
struct TurnTime {
  double admit_s = sweep::kNotObserved;
  double queue_s = 0, load_s = 0, recompute_s = 0, prefill_s = 0, decode_s = 0;
  double seen_s = 0;         // until when it is told
  bool loading = false;      // since seen_s
  int computed_earlier = 0;  // leading tokens that earlier turns or an evicted life computed

  void begin_load(double t_s) {
    wait_until(t_s);
    loading = true;
  }
  void compute(double start_s, double end_s, const server::LoggedShare& share, int prompt_tokens) {
    if (std::isnan(admit_s)) admit_s = start_s;
    wait_until(start_s);
    seen_s = end_s;
    loading = false;
    const double took = end_s - start_s;
    if (share.computed_before >= prompt_tokens && share.tokens == 1) {
      decode_s += took;
      return;
    }
    const int again =
        std::clamp(computed_earlier - share.computed_before, 0, std::max(share.tokens, 0));
    recompute_s += share.tokens > 0 ? took * again / share.tokens : 0;
    prefill_s += share.tokens > 0 ? took * (share.tokens - again) / share.tokens : 0;
  }

 private:
  void wait_until(double t_s) {
    (loading ? load_s : queue_s) += std::max(0.0, t_s - seen_s);
    seen_s = std::max(seen_s, t_s);
  }
};

/// The times of turns, by job and turn, from the rows that the client wrote.
class TurnTimes {
 public:
  explicit TurnTimes(const sweep::Table& turns) {
    const auto &job = turns.values<std::int32_t>("job"), &turn = turns.values<std::int32_t>("turn");
    const auto& arrive = turns.values<double>("t_arrive_s");
    for (std::size_t i = 0; i < job.size(); ++i) {
      TurnTime& time = times_[{job[i], turn[i]}];
      time.seen_s = arrive[i];
      for (const char* name : {"cached_gpu_tok", "cached_host_tok", "recomputed_tok"})
        time.computed_earlier += turns.values<std::int32_t>(name)[i];
    }
  }
  TurnTime& operator[](const Turn& turn) { return times_[{turn.job, turn.turn}]; }

  /// Writes them into the tables. A turn without a step, and its job, keep what they have.
  void write(sweep::CellResult& result) {
    const auto jobs = result.turns.values<std::int32_t>("job"),
               turns = result.turns.values<std::int32_t>("turn");
    auto& jobs_queue_s = column<double>(result.jobs, "queue_s");
    std::ranges::fill(jobs_queue_s, 0.0);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const TurnTime& time = times_[{jobs[i], turns[i]}];
      double& of_job = jobs_queue_s.at(static_cast<std::size_t>(jobs[i]));
      of_job += std::isnan(time.admit_s) ? sweep::kNotObserved : time.queue_s;
      if (std::isnan(time.admit_s)) continue;
      const std::pair<const char*, double> values[] = {
          {"t_admit_s", time.admit_s},   {"queue_s", time.queue_s},
          {"load_stall_s", time.load_s}, {"recompute_s", time.recompute_s},
          {"prefill_s", time.prefill_s}, {"decode_s", time.decode_s}};
      for (const auto& [name, value] : values) column<double>(result.turns, name)[i] = value;
    }
  }

 private:
  std::map<std::pair<std::int32_t, std::int32_t>, TurnTime> times_;
};

class StepRecorder {
 public:
  StepRecorder(const server::StepLog& log, double zero_s, std::int64_t bytes_per_block,
               const workload::Workload& workload, TurnTimes& times)
      : log_(log), zero_s_(zero_s), bytes_per_block_(bytes_per_block), times_(times) {
    const Turns turns(workload);
    for (const std::string& id : log.ids) {
      const Turn* turn = turns.find(id);
      turns_.push_back(turn == nullptr ? std::nullopt : std::optional(*turn));
    }
  }

  void record(const server::LoggedStep& step) {
    sweep::StepRow row;
    row.step = ++step_;
    row.t_s = step.start_s - zero_s_;
    row.dur_s = step.end_s - step.start_s;
    row.n_running = step.running;
    row.n_waiting = step.waiting;
    row.n_preempted = static_cast<std::int32_t>(step.preempted.size());
    row.t_schedule_s = step.plan_s;
    row.d2h_bytes = step.stored_blocks * bytes_per_block_;
    for (const server::LoggedShare& share : step.shares) record(share, row);
    for (const server::LoggedVictim& victim : step.preempted) record(victim, row);
    for (const server::LoggedLoad& load : step.loads) record(load, row);
    row.n_loading = static_cast<std::int32_t>(loading_.size());
    row.n_prefill_tok = row.n_tok - row.n_decode;
    row.forward = forward_of(row);
    steps_.add(row);
  }

  void take(sweep::CellResult& result) && {
    result.steps = std::move(steps_).take();
    result.sched = std::move(sched_).take();
    result.kv_events = std::move(kv_events_).take();
    result.evictions = sweep::to_table<sweep::EvictionRow>(evictions_);
  }
  bool saw_others() const { return saw_others_; }

 private:
  const Turn* turn_of(std::size_t request) {
    const std::optional<Turn>& turn = turns_[request];
    saw_others_ |= !turn;
    return turn ? &*turn : nullptr;
  }

  void record(const server::LoggedShare& share, sweep::StepRow& row) {
    const Turn* turn = turn_of(share.request);
    row.n_tok += share.tokens;
    row.max_tok = std::max(row.max_tok, share.tokens);
    const bool prompt = turn != nullptr && share.computed_before < turn->prompt_tokens;
    row.n_decode += share.tokens == 1 && !prompt ? 1 : 0;
    if (const auto open = evicted_.find(share.request); open != evicted_.end()) {
      sweep::EvictionRow& eviction = evictions_[open->second.row];
      if (share.taken == server::Taken::resumed && std::isnan(eviction.t_resume_s))
        eviction.t_resume_s = row.t_s;
      const int again = open->second.tokens - share.computed_before;
      row.n_again_tok += std::clamp(again, 0, share.tokens);
    }
    loading_.erase(share.request);
    if (turn == nullptr) return;
    sched_.add({row.step, turn->job, turn->turn, recorded(share.taken), share.tokens,
                share.computed_before});
    times_[*turn].compute(row.t_s, row.t_s + row.dur_s, share, turn->prompt_tokens);
  }

  void record(const server::LoggedLoad& load, sweep::StepRow& row) {
    row.h2d_bytes += load.blocks * bytes_per_block_;
    loading_.insert(load.request);
    const Turn* turn = turn_of(load.request);
    if (turn == nullptr) return;
    add_event(row, *turn, sweep::KvEventKind::load, sweep::KvReason::demand, load.blocks);
    times_[*turn].begin_load(row.t_s);
  }

  void add_event(const sweep::StepRow& row, const Turn& turn, sweep::KvEventKind kind,
                 sweep::KvReason reason, int blocks) {
    sweep::KvEventRow event;
    event.step = row.step;
    event.t_s = row.t_s;
    event.job = turn.job;
    event.turn = turn.turn;
    event.kind = kind;
    event.reason = reason;
    event.blocks = blocks;
    event.bytes = blocks * bytes_per_block_;
    kv_events_.add(event);
  }

  void record(const server::LoggedVictim& victim, const sweep::StepRow& row) {
    const Turn* turn = turn_of(victim.request);
    if (turn == nullptr) return;
    const int size = std::max(1, log_.block_size);
    const int blocks = victim.tokens / size + (victim.tokens % size > 0 ? 1 : 0);
    sched_.add({row.step, turn->job, turn->turn, sweep::SchedKind::preempted, 0, 0});
    add_event(row, *turn, sweep::KvEventKind::preempt, sweep::KvReason::out_of_blocks, blocks);
    sweep::EvictionRow& eviction = evictions_.emplace_back();
    eviction.job = turn->job;
    eviction.turn = turn->turn;
    eviction.step = row.step;
    eviction.tokens = victim.tokens;
    eviction.blocks = blocks;
    eviction.t_evict_s = row.t_s;
    eviction.out_s = eviction.in_s = sweep::kNotObserved;
    evicted_[victim.request] = {evictions_.size() - 1, victim.tokens};
    int& earlier = times_[*turn].computed_earlier;
    earlier = std::max(earlier, victim.tokens);
  }

  struct Evicted {
    std::size_t row = 0;  // in evictions_
    int tokens = 0;
  };

  const server::StepLog& log_;
  double zero_s_;
  std::int64_t bytes_per_block_;
  TurnTimes& times_;
  std::vector<std::optional<Turn>> turns_;  // by request; empty: of another client
  std::set<std::size_t> loading_;           // requests
  std::int64_t step_ = 0;
  bool saw_others_ = false;
  GrowingTable<sweep::StepRow> steps_;
  GrowingTable<sweep::SchedRow> sched_;
  GrowingTable<sweep::KvEventRow> kv_events_;
  std::vector<sweep::EvictionRow> evictions_;
  std::map<std::size_t, Evicted> evicted_;  // by request
};

}  // namespace

void add_server_steps(const server::StepLog& log, double zero_s, std::int64_t bytes_per_block,
                      const workload::Workload& workload, sweep::CellResult& result) {
  TurnTimes times(result.turns);
  StepRecorder recorder(log, zero_s, bytes_per_block, workload, times);
  for (const server::LoggedStep& step : log.steps) recorder.record(step);
  std::string text = log.async ? "asynchronous" : "synchronous";
  if (!log.problem.empty()) text += "; steps are short: " + log.problem;
  if (recorder.saw_others()) text += "; requests of other clients are in them";
  std::move(recorder).take(result);
  result.notes.push_back({"server_steps", text, true});
  if (log.steps.empty()) return;
  times.write(result);
  const auto figures = figures_of(result, {log.block_size, bytes_per_block});
  for (const std::string_view name : kOfSteps) {
    result.figures.push_back(*sweep::find_named(figures, name));
    result.figures.back().is_volatile |= name == "forwards";  // as where the server counts them
  }
}

}  // namespace worker
