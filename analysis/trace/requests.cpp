#include <algorithm>
#include <cmath>
#include <ostream>
#include <span>
#include <unordered_map>

#include "analysis/trace/jsonl.hpp"
#include "analysis/trace/names.hpp"

namespace analysis {
namespace {

/// A member of a JSON object and its column.
struct Member {
  std::string_view name, column;
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

/// Writes the lines of /turns and /jobs.
class RequestWriter {
 public:
  RequestWriter(const sweep::CellResult& result, std::ostream& out)
      : result_(result), out_(out), names_(result), labels_(result.notes) {
    const auto& job_of_turn = result.turns.values<std::int32_t>("job");
    const auto& turn = result.turns.values<std::int32_t>("turn");
    for (std::size_t row = 0; row < job_of_turn.size(); ++row) {
      turns_of_job_[job_of_turn[row]].push_back(row);
    }
    for (auto& [job, rows] : turns_of_job_) {
      std::ranges::sort(rows, {}, [&](std::size_t row) { return turn[row]; });
    }
  }

  void write_turn(std::size_t row) {
    use(result_.turns, row);
    begin("request");
    line_.key("req_id").raw(names_.request_of_row(row));
    line_.key("job_id").raw(names_.job_of_row(row));
    line_.key("turn").integer(count("turn"));
    if (count("agent") > 0)
      line_.key("agent").integer(count("agent")).key("parent").integer(count("parent"));
    line_.key("status").text(std::isnan(seconds("t_finish_s")) ? "unfinished" : "finished");
    add_numbers(kTurnTimes);
    add_tokens();
    line_.key("num_preemptions").integer(count("preemptions"));
    line_.key("is_last_step").boolean(flag("last"));
    line_.key("tool").text(text("tool"));
    add_numbers(kTurnParts);
    end();
  }

  void write_job(std::size_t row) {
    use(result_.jobs, row);
    const std::int32_t job = count("job");
    begin("job");
    line_.key("job_id").raw(names_.job(job)).key("job").integer(job);
    line_.key("n_turns").integer(count("n_turns"));
    line_.key("num_preemptions").integer(count("preemptions"));
    add_numbers(kJobTimes);
    line_.key("turns").open('[');
    for (const std::size_t turn_row : turns_of_job_[job]) add_turn_of_job(turn_row);
    line_.close(']');
    end();
  }

 private:
  void use(const sweep::Table& table, std::size_t row) {
    table_ = &table;
    row_ = row;
  }
  std::int32_t count(std::string_view column) const {
    return table_->values<std::int32_t>(column)[row_];
  }
  double seconds(std::string_view column) const { return table_->values<double>(column)[row_]; }
  bool flag(std::string_view column) const {
    return table_->values<std::int8_t>(column)[row_] != 0;
  }
  const std::string& text(std::string_view column) const {
    return table_->values<std::string>(column)[row_];
  }

  void begin(std::string_view event) {
    line_.open('{').key("event").text(event);
    add_label(line_, "policy", labels_.policy);
    add_label(line_, "cell", labels_.cell);
  }
  void end() { line_.close('}').end_line(out_); }

  void add_numbers(std::span<const Member> members) {
    for (const Member& each : members) line_.key(each.name).number(seconds(each.column));
  }
  void add_counts(std::span<const Member> members) {
    for (const Member& each : members) line_.key(each.name).integer(count(each.column));
  }

  /// The last output token is sampled and never computed.
  void add_tokens() {
    const std::int64_t prompt = count("prompt_tok"), output = count("output_tok");
    const std::int64_t computed = prompt + std::max<std::int64_t>(output - 1, 0);
    line_.key("num_prompt_tokens").integer(prompt);
    line_.key("num_tokens").integer(prompt + output);
    line_.key("num_output_tokens").integer(output);
    line_.key("num_computed_tokens").integer(computed);
    line_.key("num_cached_tokens")
        .integer(std::int64_t{count("cached_gpu_tok")} + count("cached_host_tok"));
    line_.key("num_external_computed_tokens").integer(count("cached_host_tok"));
    line_.key("num_recomputed_tokens").integer(count("recomputed_tok"));
  }

  void add_turn_of_job(std::size_t turn_row) {
    use(result_.turns, turn_row);
    line_.open('{').key("turn").integer(count("turn"));
    add_numbers(kTurnOfJobTimes);
    add_counts(kTurnOfJobTokens);
    line_.key("stall_ms").number(std::round(seconds("load_stall_s") * 1e9) / 1e6);
    line_.key("tool").text(text("tool"));
    line_.key("gap").number(seconds("gap_s"));
    line_.close('}');
  }

  const sweep::CellResult& result_;
  std::ostream& out_;
  TurnNames names_;
  TraceLabels labels_;
  std::unordered_map<std::int32_t, std::vector<std::size_t>> turns_of_job_;  // rows, by turn
  JsonLine line_;
  const sweep::Table* table_ = nullptr;
  std::size_t row_ = 0;
};

}  // namespace

void write_requests(const sweep::CellResult& result, std::ostream& out) {
  RequestWriter writer(result, out);
  for (std::size_t row = 0; row < result.turns.rows(); ++row) writer.write_turn(row);
  for (std::size_t row = 0; row < result.jobs.rows(); ++row) writer.write_job(row);
  flush_checked(out);
}

}  // namespace analysis
