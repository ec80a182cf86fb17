#include <algorithm>
#include <optional>
#include <ostream>

#include "tests/engine/replay/replay.hpp"
#include "tests/engine/replay/script.hpp"
#include "tests/engine/support/num_contents.hpp"

namespace worker {
namespace {

using engine::Nanos;
using engine::Request;
using nlohmann::ordered_json;

constexpr engine::TokenId kEos = 32'000;  // no generated token

/// The loop of vLLM's engine with a queue of two batches: an iteration schedules a batch, then
/// waits for the one before it.
class AsyncReplay {
 public:
  AsyncReplay(const SchedulerWorkload& workload, AsyncVariant variant)
      : script_(workload), late_(variant == AsyncVariant::late_abort) {}

  void run(std::ostream& out) {
    int step = 0;
    for (; !done(); ++step) {
      script_.check_progress(step / 2);
      out << line(step).dump() << '\n';
    }
    out << script_.last_line(step).dump() << '\n';
  }

 private:
  struct Batch {
    int step;
    engine::StepPlan plan;
    std::vector<ordered_json> sampled;  // for each share
  };

  bool scheduler_has_work() const {
    return !script_.scheduler.idle() || unannounced_ || script_.copies();
  }
  bool done() const { return script_.all_arrived() && !scheduler_has_work() && queue_.empty(); }

  ordered_json line(int step) {
    ordered_json record{{"step", step}, {"added", script_.add_arrivals(step)}};
    take_input_aborts(step, record);
    const bool called = scheduler_has_work();
    record["schedule_called"] = called;
    script_.kv.clear_evictions();
    const engine::StepPlan none;
    if (called) schedule(step);
    describe_plan(called ? queue_.back().plan : none, record);
    script_.describe_common_prefix(called, record);
    script_.describe_tier(called, record);
    if (script_.connector != nullptr) record["deferred_free_blocks"] = late_blocks();
    script_.run_copies(called ? &queue_.back().plan : nullptr, record);
    const bool waits = script_.waits_for_all() && scheduler_has_work();
    const bool fills =
        called && queue_.size() == 1 && (waits || !queue_.back().plan.scheduled.empty());
    const bool takes = !fills && !queue_.empty();
    take_late_aborts(step, takes, record);
    apply_oldest(takes, record);
    describe_state_after(record);
    return record;
  }

  void abort(const char* field, int abort_step, int step, ordered_json& record) {
    ordered_json aborted = script_.apply_aborts(abort_step, step);
    if (aborted.empty()) return;
    unannounced_ = true;
    record[field] = std::move(aborted);
  }

  void take_input_aborts(int step, ordered_json& record) {
    if (!late_) return abort("aborted", step, step, record);
    if (missed_) abort("aborted", *missed_, step, record);
    missed_.reset();
  }

  /// Aborts that arrive while the engine waits; without a batch to wait for, the next iteration
  /// takes them.
  void take_late_aborts(int step, bool waits, ordered_json& record) {
    if (!late_) return;
    if (waits) return abort("aborted_mid", step, step, record);
    missed_ = step;
  }

  void schedule(int step) {
    Batch& batch = queue_.emplace_back();
    batch.step = step;
    unannounced_ = false;
    script_.scheduler.schedule(batch.plan, Nanos{0});
    for (const engine::ScheduledRequest& share : batch.plan.scheduled)
      batch.sampled.push_back(Script::sampled(share));
  }

  /// The newest release counts the tokens in flight of a preempted request apart.
  bool stale(const Request& request) const {
    return script_.newest() && request.status == engine::RequestStatus::preempted;
  }
  ordered_json in_flight() const {
    ordered_json counts = ordered_json::object();
    for (const Request& request : script_.requests)
      if (!request.ended() && request.tokens_in_flight > 0 && !stale(request))
        counts[script_.name(request)] = request.tokens_in_flight;
    return counts;
  }

  void describe_plan(const engine::StepPlan& plan, ordered_json& record) const {
    record["scheduled"] = ordered_json::array();
    for (const engine::ScheduledRequest& share : plan.scheduled) {
      ordered_json row = script_.share(share);
      row["outputs_known"] = share.request->num_outputs();
      row["placeholders_before"] = share.in_flight;
      row["placeholders_after"] = share.request->tokens_in_flight;
      record["scheduled"].push_back(std::move(row));
    }
    record["preempted"] = script_.names(plan.preempted);
    record["preempted_placeholders"] = ordered_json::array();
    for (const Request* request : plan.preempted)
      record["preempted_placeholders"].push_back(request->tokens_in_flight);
    record["waiting"] = script_.waiting();
    record["running"] = script_.running();
    record["placeholders_scheduled"] = in_flight();
    record["free_blocks"] = script_.kv.num_free();
    record["kv_usage"] = script_.kv_usage();
    record["evicted"] = script_.evicted();
    record["cached_hashes_scheduled"] = support::num_contents(script_.kv.prefix_cache());
  }

  std::size_t late_blocks() const {
    std::size_t blocks = 0;
    for (const auto& late : script_.scheduler.late()) blocks += late.blocks.size();
    return blocks;
  }

  ordered_json tokens_of(const Batch& batch) const {
    ordered_json tokens = ordered_json::array();
    for (std::size_t i = 0; i < batch.sampled.size(); ++i) {
      const Request& request = *batch.plan.scheduled[i].request;
      if (!batch.plan.scheduled[i].samples) continue;
      const char* to = request.ended()                                    ? "discarded"
                       : request.status == engine::RequestStatus::running ? "running"
                                                                          : "preempted";
      tokens.push_back({script_.name(request), batch.sampled[i], to});
    }
    return tokens;
  }

  void apply_oldest(bool takes, ordered_json& record) {
    record["applied"] = takes ? ordered_json(queue_.front().step) : ordered_json();
    record["applied_tokens"] = takes ? tokens_of(queue_.front()) : ordered_json::array();
    std::vector<Request*> finished;
    if (takes) {
      script_.scheduler.apply(queue_.front().plan, {}, Nanos{0}, Nanos{0}, finished);
      queue_.pop_front();
    }
    script_.apply_copies(takes, record);
    unannounced_ = unannounced_ || !finished.empty();
    record["finished"] = script_.names(finished);
  }

  void describe_state_after(ordered_json& record) const {
    record["in_flight_after"] = ordered_json::array();
    for (const Batch& batch : queue_) record["in_flight_after"].push_back(batch.step);
    record["placeholders_after"] = in_flight();
    record["free_blocks_after"] = script_.kv.num_free();
    record["free_queue_head"] = script_.free_queue(8);
    record["cached_hashes"] = support::num_contents(script_.kv.prefix_cache());
  }

  Script script_;
  bool late_;
  std::deque<Batch> queue_;    // in flight, at most two
  bool unannounced_ = false;   // a request ended since the last schedule()
  std::optional<int> missed_;  // abort step that met no batch
};

/// Ends some requests early: each has an even chance that its answer, or one twice as long, has its
/// end at every token.
void end_some_early(SchedulerWorkload& workload) {
  for (std::size_t j = 0; j < workload.requests.size(); ++j) {
    auto& outputs = workload.requests[j].outputs;
    const std::uint64_t number = 1 + splitmix64(777'000 + j) % (2 * outputs.size());
    if (number >= outputs.size()) continue;
    outputs[static_cast<std::size_t>(number - 1)] = kEos;
    workload.requests[j].eos = kEos;
  }
}

using engine::Nanos;
using nlohmann::ordered_json;

ordered_json line(Script& script, engine::StepPlan& plan, int step) {
  ordered_json record{{"step", step}, {"added", script.add_arrivals(step)}};
  if (ordered_json aborted = script.apply_aborts(step, step); !aborted.empty())
    record["aborted"] = aborted;
  script.kv.clear_evictions();
  const bool tier = script.connector != nullptr;
  const bool unannounced = record.contains("aborted");
  const bool called = !tier || unannounced || !script.scheduler.idle() || script.copies();
  if (tier) record["schedule_called"] = called;
  plan = called ? std::move(plan) : engine::StepPlan();
  if (called) script.scheduler.schedule(plan, Nanos{0});
  record["scheduled"] = ordered_json::array();
  for (const engine::ScheduledRequest& share : plan.scheduled)
    record["scheduled"].push_back(script.share(share));
  record["preempted"] = script.names(plan.preempted);
  record["waiting"] = script.waiting();
  record["running"] = script.running();
  record["free_blocks"] = script.kv.num_free();
  record["kv_usage"] = script.kv_usage();
  script.describe_common_prefix(true, record);
  record["evicted"] = script.evicted();
  script.describe_tier(called, record);
  script.run_copies(called ? &plan : nullptr, record);

  std::vector<engine::Request*> finished;
  script.scheduler.apply(plan, {}, Nanos{0}, Nanos{0}, finished);
  script.apply_copies(called, record);
  record["finished"] = script.names(finished);
  record["free_blocks_after"] = script.kv.num_free();
  record["free_queue_head"] = script.free_queue(8);
  record["cached_hashes"] = support::num_contents(script.kv.prefix_cache());
  return record;
}

}  // namespace

void replay_async_scheduling(const std::string& workload_path, engine::Version version,
                             AsyncVariant variant, std::ostream& out) {
  SchedulerWorkload workload = load_scheduler_workload(workload_path, version);
  if (variant == AsyncVariant::eos) end_some_early(workload);
  AsyncReplay(workload, variant).run(out);
}

void replay_scheduling(const std::string& workload_path, engine::Version version,
                       std::ostream& out) {
  const SchedulerWorkload workload = load_scheduler_workload(workload_path, version);
  Script script(workload);
  engine::StepPlan plan;
  int step = 0;
  for (; !script.all_arrived() || !script.scheduler.idle() || script.copies(); ++step) {
    script.check_progress(step);
    out << line(script, plan, step).dump() << '\n';
  }
  out << script.last_line(step).dump() << '\n';
}

}  // namespace worker
