#include "workers/cell/server_steps.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "workers/record/growing_table.hpp"

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

sweep::SchedKind recorded(server::Taken taken) {
  if (taken == server::Taken::fresh) return sweep::SchedKind::fresh;
  return taken == server::Taken::resumed ? sweep::SchedKind::resumed : sweep::SchedKind::running;
}

sweep::ForwardKind forward_of(const sweep::StepRow& row) {
  if (row.n_tok == 0) return sweep::ForwardKind::none;
  if (row.n_decode == 0) return sweep::ForwardKind::prefill;
  return row.n_prefill_tok == 0 ? sweep::ForwardKind::decode : sweep::ForwardKind::mixed;
}

class StepRecorder {
 public:
  StepRecorder(const server::StepLog& log, double zero_s, const workload::Workload& workload)
      : log_(log), zero_s_(zero_s) {
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
    for (const server::LoggedShare& share : step.shares) record(share, row);
    for (const server::LoggedVictim& victim : step.preempted) record(victim, row);
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
    if (turn != nullptr)
      sched_.add({row.step, turn->job, turn->turn, recorded(share.taken), share.tokens,
                  share.computed_before});
  }

  void record(const server::LoggedVictim& victim, const sweep::StepRow& row) {
    const Turn* turn = turn_of(victim.request);
    if (turn == nullptr) return;
    const int size = std::max(1, log_.block_size);
    const int blocks = victim.tokens / size + (victim.tokens % size > 0 ? 1 : 0);
    sched_.add({row.step, turn->job, turn->turn, sweep::SchedKind::preempted, 0, 0});
    sweep::KvEventRow event;
    event.step = row.step;
    event.t_s = row.t_s;
    event.job = turn->job;
    event.turn = turn->turn;
    event.kind = sweep::KvEventKind::preempt;
    event.reason = sweep::KvEventReason::out_of_blocks;
    event.blocks = blocks;
    kv_events_.add(event);
    sweep::EvictionRow& eviction = evictions_.emplace_back();
    eviction.job = turn->job;
    eviction.turn = turn->turn;
    eviction.step = row.step;
    eviction.tokens = victim.tokens;
    eviction.blocks = blocks;
    eviction.t_evict_s = row.t_s;
    eviction.out_s = eviction.in_s = sweep::kNotObserved;
    evicted_[victim.request] = {evictions_.size() - 1, victim.tokens};
  }

  /// The last preemption of a request.
  struct Evicted {
    std::size_t row = 0;  // in evictions_
    int tokens = 0;
  };

  const server::StepLog& log_;
  double zero_s_;
  std::vector<std::optional<Turn>> turns_;  // by request; empty: of another client
  std::int64_t step_ = 0;
  bool saw_others_ = false;
  GrowingTable<sweep::StepRow> steps_;
  GrowingTable<sweep::SchedRow> sched_;
  GrowingTable<sweep::KvEventRow> kv_events_;
  std::vector<sweep::EvictionRow> evictions_;
  std::map<std::size_t, Evicted> evicted_;  // by request
};

}  // namespace

void add_server_steps(const server::StepLog& log, double zero_s, const workload::Workload& workload,
                      sweep::CellResult& result) {
  StepRecorder recorder(log, zero_s, workload);
  for (const server::LoggedStep& step : log.steps) recorder.record(step);
  std::string text = log.async ? "asynchronous" : "synchronous";
  if (!log.problem.empty()) text += "; steps are short: " + log.problem;
  if (recorder.saw_others()) text += "; requests of other clients are in them";
  std::move(recorder).take(result);
  result.notes.push_back({"server_steps", text, true});
}

}  // namespace worker
