#pragma once
#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sweeps/tables/result.hpp"
#include "workers/record/figures.hpp"
#include "workers/record/turn_tables.hpp"

namespace worker {

/// A turn as the client of a server saw it. Counts that the server did not report are empty.
struct SeenTurn {
  engine::RequestSpec spec;  // without its tokens
  engine::Nanos sent{0}, first_token{0}, last_token{0};
  int prompt_tokens = 0, output_tokens = 0;
  double tokens_at_first = 1;        // of the output, with its first token
  std::optional<int> cached_tokens;  // of the prompt, in all caches
  std::optional<int> host_tokens;    // those of them from host memory
  std::optional<int> preemptions;
};

/// Converts what a client saw into the tables of a cell. What happens inside of a server, its steps
/// above all, is not seen: those tables stay empty, and columns of times hold NaN.
class ClientRecorder {
 public:
  explicit ClientRecorder(const workload::Workload& workload) : turns_(workload) {}
  void add(const SeenTurn& seen) {
    const engine::RequestSpec& spec = seen.spec;
    sweep::TurnRow row = turns_.row_of(spec);
    row.late_s = engine::to_seconds(seen.sent - spec.arrival);
    row.t_first_token_s = engine::to_seconds(seen.first_token);
    row.t_finish_s = engine::to_seconds(seen.last_token);
    row.prompt_tok = seen.prompt_tokens;
    row.output_tok = seen.output_tokens;
    row.cached_host_tok = seen.host_tokens.value_or(0);
    row.cached_gpu_tok = seen.cached_tokens.value_or(0) - row.cached_host_tok;
    if (seen.cached_tokens)
      row.recomputed_tok = std::max(0, spec.computed_by_earlier_turns - *seen.cached_tokens);
    row.preemptions = seen.preemptions.value_or(0);
    saw_cached_ = saw_cached_ && seen.cached_tokens.has_value();
    saw_host_ = saw_host_ && seen.host_tokens.has_value();
    saw_preemptions_ = saw_preemptions_ && seen.preemptions.has_value();
    turns_.add(spec, std::move(row), seen.tokens_at_first);
  }

  /// Jobs and turns, with their figures. `token_gaps_s`: between tokens, over all turns.
  sweep::CellResult take(std::span<const double> token_gaps_s,
                         std::vector<sweep::TelemetryRow> samples) {
    sweep::CellResult result;
    std::move(turns_).take(result);
    result.telemetry = sweep::to_table<sweep::TelemetryRow>(samples);
    const sweep::Table &jobs = result.jobs, &turns = result.turns;
    Figures figures;
    figures.add_distribution("jct_wall", jobs.values<double>("jct_wall_s"));
    figures.add_distribution("jct_turns", jobs.values<double>("jct_turns_s"));
    figures.add_distribution("ttft", turns.values<double>("ttft_s"));
    figures.add_observed("tpot", turns.values<double>("tpot_s"));
    figures.add_distribution("first_token", between(jobs, "t_arrive_s", "t_first_token_s"));
    figures.add_sizes(result);
    figures.add_throughput(result);
    constexpr double kNone = sweep::kNotObserved;
    const double prompt = sum<std::int32_t>(turns, "prompt_tok"),
                 on_gpu = sum<std::int32_t>(turns, "cached_gpu_tok"),
                 on_host = sum<std::int32_t>(turns, "cached_host_tok");
    figures.add("prefix_hit_rate", saw_cached_ ? on_gpu / prompt : kNone, "");
    figures.add("host_hit_rate", saw_host_ ? on_host / prompt : kNone, "");
    figures.add("gpu_hit_tok", saw_cached_ ? on_gpu : kNone, "tok");
    figures.add("host_hit_tok", saw_host_ ? on_host : kNone, "tok");
    figures.add("recomputed_tok", saw_cached_ ? sum<std::int32_t>(turns, "recomputed_tok") : kNone,
                "tok");
    double preemptions = saw_preemptions_ ? sum<std::int32_t>(turns, "preemptions") : kNone;
    double running = kNone;
    for (const sweep::TelemetryRow& row : samples) running = std::fmax(running, row.n_running);
    if (!samples.empty() && std::isnan(preemptions)) preemptions = samples.back().preemptions;
    figures.add("preemptions", preemptions, "");
    figures.add("running_peak", running, "");
    figures.add_observed("itl", {token_gaps_s.begin(), token_gaps_s.end()});
    figures.add_distribution("client_late", turns.values<double>("late_s"));
    result.figures = figures.take();
    return result;
  }

 private:
  TurnTables turns_;
  bool saw_cached_ = true, saw_host_ = true, saw_preemptions_ = true;  // in every turn
};

}  // namespace worker
