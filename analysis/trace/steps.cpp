#include "analysis/trace/steps.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "analysis/trace/names.hpp"
#include "analysis/trace/replay.hpp"

namespace analysis {
namespace {

using Requests = QueueReplay::Requests;
using sweep::SchedKind;

/// Writes the lines of one step after another.
class StepWriter {
 public:
  explicit StepWriter(const sweep::CellResult& result)
      : result_(result),
        labels_(result.notes),
        names_(result),
        queues_(result, names_),
        kv_(result) {}

  void write_all(std::ostream& out) {
    while (queues_.next()) {
      row_ = queues_.step_row();
      kv_.advance_to(row_);
      write_line(snapshot(), out);
      for (std::size_t row = queues_.first_sched(); row < queues_.last_sched(); ++row)
        if (kind_of(row) == SchedKind::fresh) write_line(lookup(queues_.turn_of_sched(row)), out);
      write_line(decision(), out);
    }
  }

 private:
  template <class T>
  T step(const char* column) const {
    return result_.steps.values<T>(column)[row_];
  }
  std::int32_t count(const char* column) const { return step<std::int32_t>(column); }
  std::int32_t of_turn(const char* column, std::size_t turn) const {
    return result_.turns.values<std::int32_t>(column)[turn];
  }

  Json begun(const char* event) const {
    Json line = {
        {"event", event}, {"step", step<std::int64_t>("step")}, {"ts", step<double>("t_s")}};
    add_label(line, "policy", labels_.policy);
    add_label(line, "cell", labels_.cell);
    return line;
  }

  Json snapshot() const {
    const std::int64_t cached = count("blk_cached"), empty = count("blk_free"),
                       pinned = count("blk_pinned"), used = count("blk_used");
    const std::int64_t total = cached + empty + pinned + used;
    // A server does not log its blocks.
    const auto known = [total](std::int64_t blocks) { return total > 0 ? Json(blocks) : Json(); };
    Json line = begun("step_snapshot");
    line["free_blocks"] = known(cached + empty);
    line["total_blocks"] = known(total);
    line["pinned_blocks"] = known(pinned);
    line["blocks_by_state"] = {{"alloc", known(used)},
                               {"pinned", known(pinned)},
                               {"cached", known(cached)},
                               {"empty", known(empty)}};
    line["host_blocks"] = known(count("host_blk_used"));
    line["total_host_blocks"] = known(count("host_blk_total"));
    line["num_running"] = count("n_running");
    line["num_waiting"] = count("n_waiting");
    line["num_loading"] = count("n_loading");
    line["num_pinned"] = count("pinned_jobs");
    line["pinned_job_ids"] = Json::array();
    for (const std::int32_t job : kv_.pinned_jobs())
      line["pinned_job_ids"].push_back(names_.job(job));
    line["running_req_ids"] = requests(queues_.running());
    line["waiting_req_ids"] = requests(queues_.waiting());
    line["running_job_ids"] = jobs(queues_.running());
    line["waiting_job_ids"] = jobs(queues_.waiting());
    return line;
  }

  Json requests(const Requests& turns) const {
    Json names = Json::array();
    for (const std::size_t turn : turns) names.push_back(names_.request_of_row(turn));
    return names;
  }
  Json jobs(const Requests& turns) const {
    Json names = Json::array();
    for (const std::size_t turn : turns) names.push_back(names_.job_of_row(turn));
    return names;
  }

  SchedKind kind_of(std::size_t sched_row) const {
    return static_cast<SchedKind>(result_.sched.values<std::int8_t>("kind")[sched_row]);
  }

  Json lookup(std::size_t turn) const {
    const std::int32_t local = of_turn("cached_gpu_tok", turn),
                       external = of_turn("cached_host_tok", turn);
    Json line = begun("prefix_cache_lookup");
    line["req_id"] = names_.request_of_row(turn);
    line["job_id"] = names_.job_of_row(turn);
    line["local_hit_tokens"] = local;
    line["external_hit_tokens"] = external;
    line["total_hit_tokens"] = std::int64_t{local} + external;
    line["total_prompt_tokens"] = of_turn("prompt_tok", turn);
    add_label(line, "connector", labels_.connector);
    add_miss(line, turn, local + external);
    return line;
  }

  void add_miss(Json& line, std::size_t turn, std::int32_t hit) const {
    line["theoretical_hit"] = nullptr;
    line["miss_cause"] = nullptr;
    if (labels_.block_size <= 0) return;
    const std::int32_t job = of_turn("job", turn);
    const auto before = names_.find(job, of_turn("turn", turn) - 1);
    const std::int32_t most = before ? possible_hit(turn, *before) : 0;
    line["theoretical_hit"] = most;
    if (hit >= most) {
      line["miss_cause"] = "none";
      return;
    }
    const LostFrom lost = kv_.lost_since(job, result_.turns.values<double>("t_finish_s")[*before]);
    if (lost != LostFrom::nowhere)
      line["miss_cause"] = lost == LostFrom::host ? "evicted_dram" : "evicted_gpu";
  }

  std::int32_t possible_hit(std::size_t turn, std::size_t before) const {
    const std::int32_t left_behind =
        of_turn("prompt_tok", before) + of_turn("output_tok", before) - 1;
    const std::int32_t most = of_turn("prompt_tok", turn) - 1;
    return std::min(left_behind, most) / labels_.block_size * labels_.block_size;
  }

  Json decision() const {
    Json line = begun("step_decision");
    line["scheduled_new_req_ids"] = scheduled(SchedKind::fresh);
    line["scheduled_resumed_req_ids"] = scheduled(SchedKind::resumed);
    line["scheduled_running_req_ids"] = scheduled(SchedKind::running);
    line["preempted_req_ids"] = scheduled(SchedKind::preempted);
    line["num_scheduled_tokens"] = by_request("tokens");
    line["num_computed_tokens_before"] = by_request("computed_before");
    line["total_num_scheduled_tokens"] = count("n_tok");
    line["max_request_tokens"] = count("max_tok");
    line["num_prefill_tokens"] = count("n_prefill_tok");
    line["num_decodes"] = count("n_decode");
    line["h2d_bytes"] = step<std::int64_t>("h2d_bytes");
    line["d2h_bytes"] = step<std::int64_t>("d2h_bytes");
    line["stop_reason"] =
        result_.steps.column("stop_reason")
            .enum_names.at(static_cast<std::size_t>(step<std::int8_t>("stop_reason")));
    line["step_ms"] = {{"total", in_ms("dur_s")},
                       {"schedule", in_ms("t_schedule_s")},
                       {"launch", in_ms("t_launch_s")},
                       {"forward", in_ms("t_device_s")},
                       {"wait", in_ms("t_wait_s")}};
    return line;
  }

  /// Milliseconds, rounded to nanoseconds.
  double in_ms(const char* column) const { return std::round(step<double>(column) * 1e9) / 1e6; }

  Json scheduled(SchedKind kind) const {
    Json names = Json::array();
    for (std::size_t row = queues_.first_sched(); row < queues_.last_sched(); ++row)
      if (kind_of(row) == kind) names.push_back(names_.request_of_row(queues_.turn_of_sched(row)));
    return names;
  }

  Json by_request(const char* column) const {
    const auto& values = result_.sched.values<std::int32_t>(column);
    Json::object_t requests;  // each is there once, so that no key is looked for
    for (std::size_t row = queues_.first_sched(); row < queues_.last_sched(); ++row)
      if (kind_of(row) != SchedKind::preempted)
        requests.emplace_back(names_.request_of_row(queues_.turn_of_sched(row)), values[row]);
    return requests;
  }

  const sweep::CellResult& result_;
  TraceLabels labels_;
  TurnNames names_;
  QueueReplay queues_;
  KvReplay kv_;
  std::size_t row_ = 0;
};

}  // namespace

void write_steps(const sweep::CellResult& result, std::ostream& out) {
  StepWriter(result).write_all(out);
  flush_checked(out);
}

}  // namespace analysis
