#include "analysis/trace/requests.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <span>
#include <unordered_map>

#include "analysis/trace/names.hpp"

namespace analysis {
namespace {

/// A member of a JSON object and its column.
struct Member {
  const char *name, *column;
};

constexpr Member kTurnTimes[] = {{"arrival_time", "t_arrive_s"},
                                 {"admit_time", "t_admit_s"},
                                 {"first_token_time", "t_first_token_s"},
                                 {"finish_time", "t_finish_s"}};
constexpr Member kTurnParts[] = {{"queue_s", "queue_s"},         {"load_stall_s", "load_stall_s"},
                                 {"recompute_s", "recompute_s"}, {"prefill_s", "prefill_s"},
                                 {"decode_s", "decode_s"},       {"gap_s", "gap_s"},
                                 {"ttft_s", "ttft_s"},           {"tpot_s", "tpot_s"}};
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

/// One row of /turns or /jobs.
class Row {
 public:
  Row(const sweep::Table& table, std::size_t row) : table_(table), row_(row) {}

  std::int32_t count(const char* column) const { return value<std::int32_t>(column); }
  double seconds(const char* column) const { return value<double>(column); }
  bool flag(const char* column) const { return value<std::int8_t>(column) != 0; }
  const std::string& text(const char* column) const { return value<std::string>(column); }

  void add_numbers(Json& line, std::span<const Member> members) const {
    for (const Member& each : members) line[each.name] = seconds(each.column);
  }
  void add_counts(Json& line, std::span<const Member> members) const {
    for (const Member& each : members) line[each.name] = count(each.column);
  }

 private:
  template <class T>
  const T& value(const char* column) const {
    return table_.values<T>(column)[row_];
  }

  const sweep::Table& table_;
  std::size_t row_;
};

Json begun(const char* event, const TraceLabels& labels) {
  Json line = {{"event", event}};
  add_label(line, "policy", labels.policy);
  add_label(line, "cell", labels.cell);
  return line;
}

Json line_of_turn(const Row& turn, std::size_t row, const TurnNames& names,
                  const TraceLabels& labels) {
  Json line = begun("request", labels);
  line["req_id"] = names.request_of_row(row);
  line["job_id"] = names.job_of_row(row);
  line["turn"] = turn.count("turn");
  if (turn.count("agent") > 0) {
    line["agent"] = turn.count("agent");
    line["parent"] = turn.count("parent");
  }
  line["status"] = std::isnan(turn.seconds("t_finish_s")) ? "unfinished" : "finished";
  turn.add_numbers(line, kTurnTimes);
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
  line["is_last_step"] = turn.flag("last");
  line["tool"] = turn.text("tool");
  turn.add_numbers(line, kTurnParts);
  return line;
}

Json turn_of_job(const Row& turn) {
  Json json = {{"turn", turn.count("turn")}};
  turn.add_numbers(json, kTurnOfJobTimes);
  turn.add_counts(json, kTurnOfJobTokens);
  json["stall_ms"] = std::round(turn.seconds("load_stall_s") * 1e9) / 1e6;
  json["tool"] = turn.text("tool");
  json["gap"] = turn.seconds("gap_s");
  return json;
}

/// The rows of /turns of each job, by turn.
std::unordered_map<std::int32_t, std::vector<std::size_t>> turns_by_job(const sweep::Table& turns) {
  const auto &job = turns.values<std::int32_t>("job"), &turn = turns.values<std::int32_t>("turn");
  std::unordered_map<std::int32_t, std::vector<std::size_t>> by_job;
  for (std::size_t row = 0; row < job.size(); ++row) by_job[job[row]].push_back(row);
  for (auto& [number, rows] : by_job)
    std::ranges::sort(rows, {}, [&](std::size_t row) { return turn[row]; });
  return by_job;
}

}  // namespace

void write_requests(const sweep::CellResult& result, std::ostream& out) {
  const TurnNames names(result);
  const TraceLabels labels(result.notes);
  for (std::size_t row = 0; row < result.turns.rows(); ++row)
    write_line(line_of_turn(Row(result.turns, row), row, names, labels), out);
  auto turns = turns_by_job(result.turns);
  for (std::size_t row = 0; row < result.jobs.rows(); ++row) {
    const Row job(result.jobs, row);
    Json line = begun("job", labels);
    line["job_id"] = names.job(job.count("job"));
    line["job"] = job.count("job");
    line["n_turns"] = job.count("n_turns");
    line["num_preemptions"] = job.count("preemptions");
    job.add_numbers(line, kJobTimes);
    line["turns"] = Json::array();
    for (const std::size_t turn : turns[job.count("job")])
      line["turns"].push_back(turn_of_job(Row(result.turns, turn)));
    write_line(line, out);
  }
  flush_checked(out);
}

}  // namespace analysis
