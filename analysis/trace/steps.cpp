#include <algorithm>
#include <cmath>
#include <ostream>

#include "analysis/trace/jsonl.hpp"
#include "analysis/trace/names.hpp"
#include "analysis/trace/replay.hpp"

namespace analysis {
namespace {

/// Milliseconds, rounded to nanoseconds.
double in_ms(double seconds) { return std::round(seconds * 1e9) / 1e6; }

std::string_view name_of(LostFrom tier) {
  return tier == LostFrom::host ? "evicted_dram" : "evicted_gpu";
}

/// Writes the lines of one step after another.
class StepWriter {
 public:
  StepWriter(const sweep::CellResult& result, std::ostream& out)
      : result_(result),
        out_(out),
        labels_(result.notes),
        names_(result),
        queues_(result, names_),
        kv_(result),
        sched_kind_(result.sched.values<std::int8_t>("kind")),
        stop_names_(result.steps.column("stop_reason").enum_names) {}

  void write_all() {
    while (queues_.next()) {
      row_ = queues_.step_row();
      kv_.advance_to(row_);
      write_snapshot();
      write_lookups();
      write_decision();
    }
  }

 private:
  template <class T>
  T step_value(std::string_view column) const {
    return result_.steps.values<T>(column)[row_];
  }
  template <class T>
  T turn_value(std::string_view column, std::size_t turn) const {
    return result_.turns.values<T>(column)[turn];
  }
  void add_count(std::string_view name, std::string_view column) {
    line_.key(name).integer(step_value<std::int32_t>(column));
  }

  void begin(std::string_view event) {
    line_.open('{').key("event").text(event);
    line_.key("step").integer(step_value<std::int64_t>("step"));
    line_.key("ts").number(step_value<double>("t_s"));
    add_label(line_, "policy", labels_.policy);
    add_label(line_, "cell", labels_.cell);
  }
  void end() { line_.close('}').end_line(out_); }

  void write_snapshot() {
    begin("step_snapshot");
    add_blocks();
    add_count("num_running", "n_running");
    add_count("num_waiting", "n_waiting");
    add_count("num_loading", "n_loading");
    add_count("num_pinned", "pinned_jobs");
    line_.key("pinned_job_ids").open('[');
    for (const std::int32_t job : kv_.pinned_jobs()) line_.raw(names_.job(job));
    line_.close(']');
    add_requests("running_req_ids", queues_.running());
    add_requests("waiting_req_ids", queues_.waiting());
    add_jobs("running_job_ids", queues_.running());
    add_jobs("waiting_job_ids", queues_.waiting());
    end();
  }

  void add_blocks() {
    const auto cached = step_value<std::int32_t>("blk_cached");
    const auto empty = step_value<std::int32_t>("blk_free");
    const auto pinned = step_value<std::int32_t>("blk_pinned");
    const auto used = step_value<std::int32_t>("blk_used");
    line_.key("free_blocks").integer(std::int64_t{cached} + empty);
    line_.key("total_blocks").integer(std::int64_t{cached} + empty + pinned + used);
    line_.key("pinned_blocks").integer(pinned);
    line_.key("blocks_by_state").open('{');
    line_.key("alloc").integer(used).key("pinned").integer(pinned);
    line_.key("cached").integer(cached).key("empty").integer(empty).close('}');
    line_.key("host_blocks").integer(step_value<std::int32_t>("host_blk_used"));
    line_.key("total_host_blocks").integer(step_value<std::int32_t>("host_blk_total"));
  }

  void add_requests(std::string_view name, const QueueReplay::Requests& requests) {
    line_.key(name).open('[');
    for (const std::size_t turn : requests) line_.raw(names_.request_of_row(turn));
    line_.close(']');
  }

  void add_jobs(std::string_view name, const QueueReplay::Requests& requests) {
    line_.key(name).open('[');
    for (const std::size_t turn : requests) line_.raw(names_.job_of_row(turn));
    line_.close(']');
  }

  sweep::SchedKind kind_of(std::size_t sched_row) const {
    return static_cast<sweep::SchedKind>(sched_kind_[sched_row]);
  }

  void write_lookups() {
    for (std::size_t row = queues_.first_sched(); row < queues_.last_sched(); ++row) {
      if (kind_of(row) == sweep::SchedKind::fresh) write_lookup(queues_.turn_of_sched(row));
    }
  }

  void write_lookup(std::size_t turn) {
    const auto local = turn_value<std::int32_t>("cached_gpu_tok", turn);
    const auto external = turn_value<std::int32_t>("cached_host_tok", turn);
    const auto prompt = turn_value<std::int32_t>("prompt_tok", turn);
    begin("prefix_cache_lookup");
    line_.key("req_id").raw(names_.request_of_row(turn));
    line_.key("job_id").raw(names_.job_of_row(turn));
    line_.key("local_hit_tokens").integer(local);
    line_.key("external_hit_tokens").integer(external);
    line_.key("total_hit_tokens").integer(std::int64_t{local} + external);
    line_.key("total_prompt_tokens").integer(prompt);
    add_label(line_, "connector", labels_.connector);
    add_miss(turn, local + external);
    end();
  }

  void add_miss(std::size_t turn, std::int32_t hit) {
    const auto job = turn_value<std::int32_t>("job", turn);
    const auto before = names_.find(job, turn_value<std::int32_t>("turn", turn) - 1);
    if (labels_.block_size <= 0) {
      line_.key("theoretical_hit").null().key("miss_cause").null();
      return;
    }
    const std::int32_t possible = before ? possible_hit(turn, *before) : 0;
    line_.key("theoretical_hit").integer(possible).key("miss_cause");
    if (hit >= possible) {
      line_.text("none");
      return;
    }
    const LostFrom lost = kv_.lost_since(job, turn_value<double>("t_finish_s", *before));
    if (lost == LostFrom::nowhere) {
      line_.null();
    } else {
      line_.text(name_of(lost));
    }
  }

  std::int32_t possible_hit(std::size_t turn, std::size_t before) const {
    const std::int32_t left_behind = turn_value<std::int32_t>("prompt_tok", before) +
                                     turn_value<std::int32_t>("output_tok", before) - 1;
    const std::int32_t most = turn_value<std::int32_t>("prompt_tok", turn) - 1;
    return std::min(left_behind, most) / labels_.block_size * labels_.block_size;
  }

  void write_decision() {
    begin("step_decision");
    add_scheduled("scheduled_new_req_ids", sweep::SchedKind::fresh);
    add_scheduled("scheduled_resumed_req_ids", sweep::SchedKind::resumed);
    add_scheduled("scheduled_running_req_ids", sweep::SchedKind::running);
    add_scheduled("preempted_req_ids", sweep::SchedKind::preempted);
    add_per_request("num_scheduled_tokens", "tokens");
    add_per_request("num_computed_tokens_before", "computed_before");
    add_count("total_num_scheduled_tokens", "n_tok");
    add_count("max_request_tokens", "max_tok");
    add_count("num_prefill_tokens", "n_prefill_tok");
    add_count("num_decodes", "n_decode");
    line_.key("h2d_bytes").integer(step_value<std::int64_t>("h2d_bytes"));
    line_.key("d2h_bytes").integer(step_value<std::int64_t>("d2h_bytes"));
    const auto stop = static_cast<std::size_t>(step_value<std::int8_t>("stop_reason"));
    line_.key("stop_reason").text(stop_names_.at(stop));
    add_durations();
    end();
  }

  void add_scheduled(std::string_view name, sweep::SchedKind kind) {
    line_.key(name).open('[');
    for (std::size_t row = queues_.first_sched(); row < queues_.last_sched(); ++row) {
      if (kind_of(row) == kind) line_.raw(names_.request_of_row(queues_.turn_of_sched(row)));
    }
    line_.close(']');
  }

  void add_per_request(std::string_view name, std::string_view column) {
    const auto& values = result_.sched.values<std::int32_t>(column);
    line_.key(name).open('{');
    for (std::size_t row = queues_.first_sched(); row < queues_.last_sched(); ++row) {
      if (kind_of(row) == sweep::SchedKind::preempted) continue;
      line_.raw_key(names_.request_of_row(queues_.turn_of_sched(row))).integer(values[row]);
    }
    line_.close('}');
  }

  void add_durations() {
    line_.key("step_ms").open('{');
    const auto add = [&](std::string_view name, std::string_view column) {
      line_.key(name).number(in_ms(step_value<double>(column)));
    };
    add("total", "dur_s");
    add("schedule", "t_schedule_s");
    add("launch", "t_launch_s");
    add("forward", "t_device_s");
    add("wait", "t_wait_s");
    line_.close('}');
  }

  const sweep::CellResult& result_;
  std::ostream& out_;
  TraceLabels labels_;
  TurnNames names_;
  QueueReplay queues_;
  KvReplay kv_;
  const std::vector<std::int8_t>& sched_kind_;
  const std::vector<std::string>& stop_names_;
  JsonLine line_;
  std::size_t row_ = 0;
};

}  // namespace

void write_steps(const sweep::CellResult& result, std::ostream& out) {
  StepWriter(result, out).write_all();
  flush_checked(out);
}

}  // namespace analysis
