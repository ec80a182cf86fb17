#include "analysis/claims/metrics.hpp"

#include "analysis/capacity/limits.hpp"
#include "analysis/digest/fits.hpp"
#include "analysis/digest/statistics.hpp"
#include "analysis/text/list.hpp"
#include "analysis/text/text_table.hpp"
#include "sweeps/tables/table_row.hpp"

namespace analysis {
namespace {

using CellSpan = std::span<const ConfiguredCell* const>;
using Values = std::vector<double>;
using Words = std::vector<std::string>;

/// A column of a table, concatenated over all cells.
Values gather(CellSpan cells, const char* table, const std::string& column) {
  Values all;
  for (const ConfiguredCell* cell : cells) {
    const Values part = numbers(stored_table(*cell, table).column(column));
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

double least(const Values& values) {
  return values.empty() ? sweep::kNotObserved : std::ranges::min(values);
}

double largest(const Values& values) {
  return values.empty() ? sweep::kNotObserved : std::ranges::max(values);
}

double share(const Values& values, const std::function<bool(double)>& counts) {
  if (values.empty()) return sweep::kNotObserved;
  return static_cast<double>(std::ranges::count_if(values, counts)) /
         static_cast<double>(values.size());
}

double turn_latency(CellSpan cells, double number) {
  Values latencies;
  for (const ConfiguredCell* cell : cells) {
    const sweep::Table turns = stored_table(*cell, "turns");
    for (sweep::TableRow turn{turns, 0}; turn.row < turns.rows(); ++turn.row)
      if (turn.count("turn") + 1 == static_cast<int>(number))
        latencies.push_back(turn.number("t_finish_s") - turn.number("t_arrive_s"));
  }
  return mean(latencies);
}

/// Tokens of a turn after the first: its prompt, the cached part, and what the preceding turn left.
struct Return {
  double prompt_tok, cached_tok, left_tok;
};

std::vector<Return> returns_of(const ConfiguredCell& cell) {
  const sweep::Table turns = stored_table(cell, "turns");
  const auto count = [&](const char* column, std::size_t row) {
    return sweep::TableRow{turns, row}.count(column);
  };
  std::map<std::pair<int, int>, std::size_t> row_of;
  for (std::size_t i = 0; i < turns.rows(); ++i) row_of[{count("job", i), count("turn", i)}] = i;
  const int block_tok = block_tokens(cell);
  std::vector<Return> returns;
  for (const auto& [at, i] : row_of) {
    const auto before = row_of.find({at.first, at.second - 1});
    if (at.second == 0 || before == row_of.end()) continue;
    // The last generated token is never fed back, so it has no KV.
    const int left = count("prompt_tok", before->second) + count("output_tok", before->second) - 1;
    returns.push_back(
        {static_cast<double>(count("prompt_tok", i)),
         static_cast<double>(count("cached_gpu_tok", i) + count("cached_host_tok", i)),
         static_cast<double>(left / block_tok * block_tok)});
  }
  return returns;
}

double next_turn_hit(CellSpan cells) {
  double cached = 0, left = 0;
  for (const ConfiguredCell* cell : cells) {
    for (const Return& each : returns_of(*cell)) {
      cached += std::min(each.cached_tok, each.left_tok);
      left += each.left_tok;
    }
  }
  return left > 0 ? cached / left : sweep::kNotObserved;
}

double fewest_new_tokens(CellSpan cells) {
  Values fresh;
  for (const ConfiguredCell* cell : cells)
    for (const Return& each : returns_of(*cell)) fresh.push_back(each.prompt_tok - each.cached_tok);
  return least(fresh);
}

double fewest_steps_beyond_output(CellSpan cells) {
  Values beyond;
  for (const ConfiguredCell* cell : cells) {
    const sweep::Table sched = stored_table(*cell, "sched"), turns = stored_table(*cell, "turns");
    std::map<std::pair<int, int>, int> steps;
    for (sweep::TableRow row{sched, 0}; row.row < sched.rows(); ++row.row)
      if (row.count("tokens") > 0) ++steps[{row.count("job"), row.count("turn")}];
    for (sweep::TableRow row{turns, 0}; row.row < turns.rows(); ++row.row)
      beyond.push_back(steps[{row.count("job"), row.count("turn")}] - row.count("output_tok"));
  }
  return least(beyond);
}

double tool_share(CellSpan cells, const std::string& tool) {
  double calls = 0, turns = 0;
  for (const ConfiguredCell* cell : cells) {
    const sweep::Table table = stored_table(*cell, "turns");
    const auto& tools = table.values<std::string>("tool");
    calls += static_cast<double>(std::ranges::count(tools, tool));
    turns += static_cast<double>(tools.size());
  }
  return turns > 0 ? calls / turns : sweep::kNotObserved;
}

double mode_from(const Values& values, double least) {
  std::map<double, int> counts;
  for (const double value : values)
    if (value >= least) ++counts[value];
  const auto most = std::ranges::max_element(counts, {}, [](const auto& c) { return c.second; });
  return most == counts.end() ? sweep::kNotObserved : most->first;
}

double h2d_rate(CellSpan cells) {
  double bytes = 0, seconds = 0;
  for (const ConfiguredCell* cell : cells) {
    const sweep::Table steps = stored_table(*cell, "steps");
    const Values moved = numbers(steps.column("h2d_bytes")), start = numbers(steps.column("t_s")),
                 took = numbers(steps.column("dur_s"));
    if (moved.empty()) continue;
    for (const double each : moved) bytes += each;
    seconds += start.back() + took.back() - start.front();
  }
  return seconds > 0 ? bytes / seconds / 1e9 : sweep::kNotObserved;
}

/// Number of rows of /kv_events of this kind, without those that have `but_reason`.
double events(CellSpan cells, const std::string& kind, const std::string& but_reason = "") {
  double count = 0;
  for (const ConfiguredCell* cell : cells) {
    const sweep::Table table = stored_table(*cell, "kv_events");
    const sweep::Column &kinds = table.column("kind"), &reasons = table.column("reason");
    for (std::size_t i = 0; i < table.rows(); ++i)
      if (sweep::name_in(kinds, i) == kind && sweep::name_in(reasons, i) != but_reason) ++count;
  }
  return count;
}

double pin_share(CellSpan cells) {
  const double pins = events(cells, "pin"), declined = events(cells, "keep_declined", "last_turn");
  return pins + declined > 0 ? pins / (pins + declined) : sweep::kNotObserved;
}

double figure_mean(CellSpan cells, const std::string& name) {
  return mean(mapped(cells, [&](const ConfiguredCell* cell) { return cell->figure(name); }));
}

double fit(CellSpan cells, const Words& words) {
  const Values x = gather(cells, "steps", words[1]), seconds = gather(cells, "steps", "dur_s");
  LeastSquares line(1);
  for (std::size_t i = 0; i < x.size(); ++i) line.add(x[i], seconds[i]);
  const std::optional<Plane> fit = line.fit();
  if (!fit) return sweep::kNotObserved;
  if (words[0] == "r2") return fit->r_squared;
  return words[0] == "slope_us" ? fit->slopes[0] * 1e6 : fit->intercept * 1e3;
}

double number_in(const std::string& metric, const std::string& word) {
  if (const auto number = number_from(word)) return *number;
  throw std::invalid_argument("metric " + metric + " must have a number for \"" + word + '"');
}

/// The metric if its name is one with a colon; empty otherwise.
std::optional<double> of_table(const std::string& metric, const Words& words, CellSpan cells) {
  const std::string &what = words[0], &first = words.size() > 1 ? words[1] : words[0];
  const auto number = [&](std::size_t i) { return number_in(metric, words.at(i)); };
  if (words.size() == 2) {
    if (what == "turn_latency_s") return turn_latency(cells, number(1));
    if (what == "turn_median") return percentile(gather(cells, "turns", first), 50);
    if (what == "step_mean") return mean(gather(cells, "steps", first));
    if (what == "access") return access_metric(first, cells);
    if (what == "step_max") return largest(gather(cells, "steps", first));
    if (what == "slope_us" || what == "intercept_ms" || what == "r2") return fit(cells, words);
    if (what == "tool_share") return tool_share(cells, first);
    if (metric == "new_tok:min") return fewest_new_tokens(cells);
    if (metric == "steps_beyond_output:min") return fewest_steps_beyond_output(cells);
    if (metric == "step_share:prefill")
      return share(gather(cells, "steps", "n_prefill_tok"), [](double n) { return n > 0; });
  }
  if (words.size() == 3) {
    if (what == "turn_growth")
      return turn_latency(cells, number(1)) / turn_latency(cells, number(2));
    if (metric.starts_with("step_share:max_tok_upto:"))
      return share(gather(cells, "steps", "max_tok"),
                   [most = number(2)](double n) { return n <= most; });
    if (metric.starts_with("step_mode:max_tok_from:"))
      return mode_from(gather(cells, "steps", "max_tok"), number(2));
  }
  return std::nullopt;
}

double objective_mean(CellSpan cells, const std::string& metric) {
  Values values;
  for (const ConfiguredCell* cell : cells) {
    if (!cell->load) throw CannotJudge("the cells have no tables");
    values.push_back(CellMetrics(*cell)(metric));
  }
  return mean(values);
}

}  // namespace

sweep::Table stored_table(const ConfiguredCell& cell, std::string_view table) {
  const std::string lack = sweep::lack_of_table(*cell.record, table);
  if (!lack.empty()) throw CannotJudge(lack);
  return cell.load(table);
}

double claim_metric(const std::string& metric, CellSpan cells) {
  const Words words = sweep::split(metric, ":");
  if (metric == "next_turn_hit") return next_turn_hit(cells);
  if (metric == "pin_share") return pin_share(cells);
  if (metric == "h2d_gb_per_s") return h2d_rate(cells);
  if (words.size() == 1) return figure_mean(cells, metric);
  if (words.size() == 2 && words[0] == "sum")
    return figure_mean(cells, words[1]) * static_cast<double>(cells.size());
  if (words.size() == 2 && words[0] == "slo") return objective_mean(cells, words[1]);
  if (const auto value = of_table(metric, words, cells)) return *value;
  throw std::invalid_argument("no metric of claims has the form " + metric);
}

}  // namespace analysis
