#include "analysis/trace/trace.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <ostream>
#include <sstream>
#include <unordered_map>

#include "analysis/text/json.hpp"
#include "analysis/text/list.hpp"
#include "analysis/text/web_page.hpp"
#include "analysis/trace/replay.hpp"
#include "sweeps/tables/table_row.hpp"

namespace analysis {
namespace {

using Requests = QueueReplay::Requests;
using Row = sweep::TableRow;
using sweep::SchedKind;

struct Member {
  const char *name, *column;
};

constexpr Member kStepCounts[] = {{"total_num_scheduled_tokens", "n_tok"},
                                  {"max_request_tokens", "max_tok"},
                                  {"num_prefill_tokens", "n_prefill_tok"},
                                  {"num_decodes", "n_decode"}};
constexpr Member kStepTimes[] = {{"total", "dur_s"},
                                 {"schedule", "t_schedule_s"},
                                 {"launch", "t_launch_s"},
                                 {"forward", "t_device_s"},
                                 {"wait", "t_wait_s"}};
constexpr Member kQueues[] = {{"num_running", "n_running"},
                              {"num_waiting", "n_waiting"},
                              {"num_loading", "n_loading"},
                              {"num_pinned", "pinned_jobs"}};
constexpr Member kTurnTimes[] = {{"arrival_time", "t_arrive_s"},
                                 {"admit_time", "t_admit_s"},
                                 {"first_token_time", "t_first_token_s"},
                                 {"finish_time", "t_finish_s"}};
constexpr Member kTurnOfJobTimes[] = {{"arrive", "t_arrive_s"},
                                      {"admit", "t_admit_s"},
                                      {"first_token", "t_first_token_s"},
                                      {"finish", "t_finish_s"}};
constexpr Member kTurnOfJobTokens[] = {{"prompt", "prompt_tok"},
                                       {"output", "output_tok"},
                                       {"hit_local", "cached_gpu_tok"},
                                       {"hit_ext", "cached_host_tok"},
                                       {"recomputed", "recomputed_tok"}};
constexpr Member kJobTimes[] = {
    {"arrival_time", "t_arrive_s"}, {"first_token_time", "t_first_token_s"},
    {"finish_time", "t_finish_s"},  {"jct_wall_s", "jct_wall_s"},
    {"jct_turns_s", "jct_turns_s"}, {"queue_s", "queue_s"}};

/// Adds the columns of a row as numbers of one type.
template <class T>
void add(Json& line, const Row& row, std::span<const Member> members) {
  for (const Member& each : members) line[each.name] = row.at<T>(each.column);
}

/// Adds "name":"text", or nothing for an unknown label.
void add_label(Json& line, const char* name, const std::string& text) {
  if (!text.empty()) line[name] = text;
}

/// Milliseconds, rounded to nanoseconds.
double in_ms(const Row& row, const char* column) {
  return std::round(row.number(column) * 1e9) / 1e6;
}

class Lines {
 public:
  explicit Lines(const sweep::CellResult& result) : result_(result), names_(result) {}

 protected:
  const std::string& note(const char* name) const {
    static const std::string kUnknown;
    const sweep::Note* note = sweep::find_named(result_.notes, name);
    return note == nullptr ? kUnknown : note->text;
  }
  Json of_cell(Json line) const {
    for (const char* name : {"policy", "cell"}) add_label(line, name, note(name));
    return line;
  }
  Row turn(std::size_t row) const { return {result_.turns, row}; }

  const sweep::CellResult& result_;
  TurnNames names_;
};

class StepLines : Lines {
 public:
  explicit StepLines(const sweep::CellResult& result)
      : Lines(result), queues_(result, names_), kv_(result) {
    const std::string& size = note("block_size");
    std::from_chars(size.data(), size.data() + size.size(), block_size_);
  }

  void write_all(std::ostream& out) {
    while (queues_.next()) {
      const Row step{result_.steps, queues_.step_row()};
      kv_.advance_to(queues_.step_row());
      write_line(snapshot(step), out);
      for (std::size_t row = queues_.first_sched(); row < queues_.last_sched(); ++row)
        if (kind_of(row) == SchedKind::fresh)
          write_line(lookup(step, queues_.turn_of_sched(row)), out);
      write_line(decision(step), out);
    }
  }

 private:
  Json begun(const char* event, const Row& step) const {
    return of_cell(
        {{"event", event}, {"step", step.at<std::int64_t>("step")}, {"ts", step.number("t_s")}});
  }

  Json snapshot(const Row& step) const {
    const std::int64_t cached = step.count("blk_cached"), empty = step.count("blk_free"),
                       pinned = step.count("blk_pinned"), used = step.count("blk_used");
    const std::int64_t total = cached + empty + pinned + used;
    // A server does not log its blocks.
    const auto known = [total](std::int64_t blocks) { return total > 0 ? Json(blocks) : Json(); };
    Json line = begun("step_snapshot", step);
    line["free_blocks"] = known(cached + empty);
    line["total_blocks"] = known(total);
    line["pinned_blocks"] = known(pinned);
    line["blocks_by_state"] = {{"alloc", known(used)},
                               {"pinned", known(pinned)},
                               {"cached", known(cached)},
                               {"empty", known(empty)}};
    line["host_blocks"] = known(step.count("host_blk_used"));
    line["total_host_blocks"] = known(step.count("host_blk_total"));
    add<std::int32_t>(line, step, kQueues);
    line["pinned_job_ids"] = mapped(kv_.pinned_jobs(), [&](int job) { return names_.job(job); });
    line["running_req_ids"] = named(queues_.running(), &TurnNames::request_of_row);
    line["waiting_req_ids"] = named(queues_.waiting(), &TurnNames::request_of_row);
    line["running_job_ids"] = named(queues_.running(), &TurnNames::job_of_row);
    line["waiting_job_ids"] = named(queues_.waiting(), &TurnNames::job_of_row);
    return line;
  }

  Json named(const Requests& turns, auto name_of) const {
    return mapped(turns, [&](std::size_t turn) { return (names_.*name_of)(turn); });
  }

  SchedKind kind_of(std::size_t sched_row) const {
    return static_cast<SchedKind>(result_.sched.values<std::int8_t>("kind")[sched_row]);
  }

  Json lookup(const Row& step, std::size_t number) const {
    const std::int32_t local = turn(number).count("cached_gpu_tok"),
                       external = turn(number).count("cached_host_tok");
    Json line = begun("prefix_cache_lookup", step);
    line["req_id"] = names_.request_of_row(number);
    line["job_id"] = names_.job_of_row(number);
    line["local_hit_tokens"] = local;
    line["external_hit_tokens"] = external;
    line["total_hit_tokens"] = std::int64_t{local} + external;
    line["total_prompt_tokens"] = turn(number).count("prompt_tok");
    add_label(line, "connector", note("connector"));
    add_miss(line, turn(number), local + external);
    return line;
  }

  void add_miss(Json& line, const Row& turn, std::int32_t hit) const {
    line["theoretical_hit"] = nullptr;
    line["miss_cause"] = nullptr;
    if (block_size_ <= 0) return;
    const auto before = names_.find(turn.count("job"), turn.count("turn") - 1);
    const std::int32_t most = before ? possible_hit(turn, this->turn(*before)) : 0;
    line["theoretical_hit"] = most;
    if (hit >= most) {
      line["miss_cause"] = "none";
      return;
    }
    const LostFrom lost =
        kv_.lost_since(turn.count("job"), this->turn(*before).number("t_finish_s"));
    if (lost != LostFrom::nowhere)
      line["miss_cause"] = lost == LostFrom::host ? "evicted_dram" : "evicted_gpu";
  }

  std::int32_t possible_hit(const Row& turn, const Row& before) const {
    const std::int32_t left_behind = before.count("prompt_tok") + before.count("output_tok") - 1;
    const std::int32_t most = turn.count("prompt_tok") - 1;
    return std::min(left_behind, most) / block_size_ * block_size_;
  }

  Json decision(const Row& step) const {
    Json line = begun("step_decision", step);
    line["scheduled_new_req_ids"] = scheduled(SchedKind::fresh);
    line["scheduled_resumed_req_ids"] = scheduled(SchedKind::resumed);
    line["scheduled_running_req_ids"] = scheduled(SchedKind::running);
    line["preempted_req_ids"] = scheduled(SchedKind::preempted);
    line["num_scheduled_tokens"] = by_request("tokens");
    line["num_computed_tokens_before"] = by_request("computed_before");
    add<std::int32_t>(line, step, kStepCounts);
    for (const char* bytes : {"h2d_bytes", "d2h_bytes"}) line[bytes] = step.at<std::int64_t>(bytes);
    line["stop_reason"] = step.name("stop_reason");
    for (const Member& each : kStepTimes) line["step_ms"][each.name] = in_ms(step, each.column);
    return line;
  }

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

  QueueReplay queues_;
  KvReplay kv_;
  std::int32_t block_size_ = 0;  // in tokens; 0: unknown
};

class RequestLines : Lines {
 public:
  using Lines::Lines;

  void write_all(std::ostream& out) const {
    for (std::size_t row = 0; row < result_.turns.rows(); ++row)
      write_line(line_of_turn(turn(row), row), out);
    std::unordered_map<std::int32_t, Turns> turns;  // of each job
    for (std::size_t row = 0; row < result_.turns.rows(); ++row)
      turns[turn(row).count("job")][turn(row).count("turn")] = row;
    for (Row job{result_.jobs, 0}; job.row < result_.jobs.rows(); ++job.row)
      write_line(line_of_job(job, turns[job.count("job")]), out);
  }

 private:
  using Turns = std::map<std::int32_t, std::size_t>;  // row by number

  Json line_of_turn(const Row& turn, std::size_t row) const {
    Json line = of_cell({{"event", "request"}});
    line["req_id"] = names_.request_of_row(row);
    line["job_id"] = names_.job_of_row(row);
    line["turn"] = turn.count("turn");
    if (turn.count("agent") > 0)
      for (const char* column : {"agent", "parent"}) line[column] = turn.count(column);
    line["status"] = std::isnan(turn.number("t_finish_s")) ? "unfinished" : "finished";
    add<double>(line, turn, kTurnTimes);
    const std::int64_t prompt = turn.count("prompt_tok"), output = turn.count("output_tok"),
                       on_host = turn.count("cached_host_tok");
    line["num_prompt_tokens"] = prompt;
    line["num_tokens"] = prompt + output;
    line["num_output_tokens"] = output;
    // The last output token is sampled and never computed.
    line["num_computed_tokens"] = prompt + std::max<std::int64_t>(output - 1, 0);
    line["num_cached_tokens"] = turn.count("cached_gpu_tok") + on_host;
    line["num_external_computed_tokens"] = on_host;
    line["num_recomputed_tokens"] = turn.count("recomputed_tok");
    line["num_preemptions"] = turn.count("preemptions");
    line["is_last_step"] = turn.at<std::int8_t>("last") != 0;
    line["tool"] = turn.text("tool");
    for (const char* part : {"queue_s", "load_stall_s", "recompute_s", "prefill_s", "decode_s",
                             "gap_s", "ttft_s", "tpot_s"})
      line[part] = turn.number(part);
    return line;
  }

  Json line_of_job(const Row& job, const Turns& turns) const {
    Json line = of_cell({{"event", "job"}});
    line["job_id"] = names_.job(job.count("job"));
    line["job"] = job.count("job");
    line["n_turns"] = job.count("n_turns");
    line["num_preemptions"] = job.count("preemptions");
    add<double>(line, job, kJobTimes);
    line["turns"] = Json::array();
    for (const auto& [number, row] : turns) line["turns"].push_back(turn_of_job(turn(row)));
    return line;
  }

  static Json turn_of_job(const Row& turn) {
    Json json = {{"turn", turn.count("turn")}};
    add<double>(json, turn, kTurnOfJobTimes);
    add<std::int32_t>(json, turn, kTurnOfJobTokens);
    json["stall_ms"] = in_ms(turn, "load_stall_s");
    json["tool"] = turn.text("tool");
    json["gap"] = turn.number("gap_s");
    return json;
  }
};

Json json_of(const TracedCell& traced) {
  const sweep::CellRecord& cell = traced.cell;
  Json notes = Json::object();
  for (const sweep::Note& note : cell.notes) notes[note.name.text()] = note.text;
  std::ostringstream out;
  write_steps(traced.result, out);
  write_events(traced.result, out);
  write_requests(traced.result, out);
  return {{"cell", cell.index},      {"key", cell.key}, {"label", cell.label},
          {"backend", cell.backend}, {"notes", notes},  {"deflated", packed(out.str())}};
}

}  // namespace

void write_steps(const sweep::CellResult& result, std::ostream& out) {
  StepLines(result).write_all(out);
  flush_checked(out);
}

void write_events(const sweep::CellResult& result, std::ostream& out) {
  const TurnNames names(result);
  for (std::size_t row = 0; row < result.kv_events.rows(); ++row) {
    const Row event{result.kv_events, row};
    // null for a job or turn of -1.
    const auto job = [&](const char* column) {
      return event.count(column) < 0 ? Json() : Json(names.job(event.count(column)));
    };
    const auto request = [&](const char* of_job, const char* of_turn) {
      const std::int32_t number = event.count(of_job), turn = event.count(of_turn);
      return number < 0 || turn < 0 ? Json() : Json(names.request(number, turn));
    };
    write_line({{"event", "kv_event"},
                {"kind", event.name("kind")},
                {"reason", event.name("reason")},
                {"step", event.at<std::int64_t>("step")},
                {"ts", event.number("t_s")},
                {"req_id", request("job", "turn")},
                {"job_id", job("job")},
                {"blocks", event.count("blocks")},
                {"bytes", event.at<std::int64_t>("bytes")},
                {"by_req_id", request("by_job", "by_turn")},
                {"by_job_id", job("by_job")},
                {"deadline", event.number("deadline_s")}},
               out);
  }
  flush_checked(out);
}

void write_requests(const sweep::CellResult& result, std::ostream& out) {
  RequestLines(result).write_all(out);
  flush_checked(out);
}

std::string trace_page(const std::string& archive, std::span<const TracedCell> cells) {
  Json page = {{"kind", "trace"}, {"archive", archive}, {"cells", Json::array()}};
  for (const TracedCell& cell : cells) page["cells"].push_back(json_of(cell));
  return text_of(page);
}

}  // namespace analysis
