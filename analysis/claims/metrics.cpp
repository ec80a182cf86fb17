#include "analysis/claims/metrics.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "analysis/claims/access.hpp"
#include "analysis/digest/fits.hpp"
#include "analysis/digest/statistics.hpp"

namespace analysis {
namespace {

using CellSpan = std::span<const ConfiguredCell* const>;
using Values = std::vector<double>;
using Words = std::vector<std::string>;

/// A column of a table, concatenated over all cells.
Values gather(CellSpan cells, const LoadTable& load, const char* table, const std::string& column) {
  Values all;
  for (const ConfiguredCell* cell : cells) {
    const Values part = numbers(load(*cell, table).column(column));
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

double largest(const Values& values) {
  return values.empty() ? sweep::kNotObserved : *std::ranges::max_element(values);
}

double share(const Values& values, const std::function<bool(double)>& counts) {
  if (values.empty()) return sweep::kNotObserved;
  return static_cast<double>(std::ranges::count_if(values, counts)) /
         static_cast<double>(values.size());
}

double turn_latency(CellSpan cells, const LoadTable& load, double number) {
  Values latencies;
  for (const ConfiguredCell* cell : cells) {
    const sweep::Table turns = load(*cell, "turns");
    const auto& turn = turns.values<std::int32_t>("turn");
    const auto &arrive = turns.values<double>("t_arrive_s"),
               &finish = turns.values<double>("t_finish_s");
    for (std::size_t i = 0; i < turn.size(); ++i)
      if (turn[i] + 1 == static_cast<int>(number)) latencies.push_back(finish[i] - arrive[i]);
  }
  return mean(latencies);
}

/// Tokens of a turn after the first: its prompt, the cached part, and what the preceding turn left.
struct Return {
  double prompt_tok, cached_tok, left_tok;
};

std::vector<Return> returns_of(const ConfiguredCell& cell, const LoadTable& load) {
  const sweep::Table turns = load(cell, "turns");
  const auto &job = turns.values<std::int32_t>("job"), &turn = turns.values<std::int32_t>("turn"),
             &prompt = turns.values<std::int32_t>("prompt_tok"),
             &output = turns.values<std::int32_t>("output_tok"),
             &gpu = turns.values<std::int32_t>("cached_gpu_tok"),
             &host = turns.values<std::int32_t>("cached_host_tok");
  std::map<std::pair<int, int>, std::size_t> row_of;
  for (std::size_t i = 0; i < job.size(); ++i) row_of[{job[i], turn[i]}] = i;
  const auto block = cell.value("engine.block_size");
  const auto* size = block ? std::get_if<std::int64_t>(&*block) : nullptr;
  const int block_tok = size != nullptr ? static_cast<int>(*size) : 16;
  std::vector<Return> returns;
  for (const auto& [at, i] : row_of) {
    const auto before = row_of.find({at.first, at.second - 1});
    if (at.second == 0 || before == row_of.end()) continue;
    // The last generated token is never fed back, so it has no KV.
    const int left = prompt[before->second] + output[before->second] - 1;
    returns.push_back({static_cast<double>(prompt[i]), static_cast<double>(gpu[i] + host[i]),
                       static_cast<double>(left / block_tok * block_tok)});
  }
  return returns;
}

double next_turn_hit(CellSpan cells, const LoadTable& load) {
  double cached = 0, left = 0;
  for (const ConfiguredCell* cell : cells) {
    for (const Return& each : returns_of(*cell, load)) {
      cached += std::min(each.cached_tok, each.left_tok);
      left += each.left_tok;
    }
  }
  return left > 0 ? cached / left : sweep::kNotObserved;
}

double fewest_new_tokens(CellSpan cells, const LoadTable& load) {
  Values fresh;
  for (const ConfiguredCell* cell : cells)
    for (const Return& each : returns_of(*cell, load))
      fresh.push_back(each.prompt_tok - each.cached_tok);
  return fresh.empty() ? sweep::kNotObserved : *std::ranges::min_element(fresh);
}

double fewest_steps_beyond_output(CellSpan cells, const LoadTable& load) {
  double fewest = sweep::kNotObserved;
  for (const ConfiguredCell* cell : cells) {
    const sweep::Table sched = load(*cell, "sched"), turns = load(*cell, "turns");
    const auto &job = sched.values<std::int32_t>("job"), &turn = sched.values<std::int32_t>("turn"),
               &tokens = sched.values<std::int32_t>("tokens");
    std::map<std::pair<int, int>, int> steps;
    for (std::size_t i = 0; i < job.size(); ++i)
      if (tokens[i] > 0) ++steps[{job[i], turn[i]}];
    const auto &jobs = turns.values<std::int32_t>("job"),
               &numbers = turns.values<std::int32_t>("turn"),
               &output = turns.values<std::int32_t>("output_tok");
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const double beyond = steps[{jobs[i], numbers[i]}] - output[i];
      if (!(fewest <= beyond)) fewest = beyond;
    }
  }
  return fewest;
}

/// The share of turns that end in a call of this tool.
double tool_share(CellSpan cells, const LoadTable& load, const std::string& tool) {
  double calls = 0, turns = 0;
  for (const ConfiguredCell* cell : cells) {
    const sweep::Table table = load(*cell, "turns");
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

double h2d_rate(CellSpan cells, const LoadTable& load) {
  double bytes = 0, seconds = 0;
  for (const ConfiguredCell* cell : cells) {
    const sweep::Table steps = load(*cell, "steps");
    const Values moved = numbers(steps.column("h2d_bytes")), start = numbers(steps.column("t_s")),
                 took = numbers(steps.column("dur_s"));
    if (moved.empty()) continue;
    for (const double each : moved) bytes += each;
    seconds += start.back() + took.back() - start.front();
  }
  return seconds > 0 ? bytes / seconds / 1e9 : sweep::kNotObserved;
}

/// Number of rows of /kv_events of this kind, without those that have `but_reason`.
double events(CellSpan cells, const LoadTable& load, const std::string& kind,
              const std::string& but_reason = "") {
  double count = 0;
  for (const ConfiguredCell* cell : cells) {
    const sweep::Table table = load(*cell, "kv_events");
    const auto &kinds = table.values<std::int8_t>("kind"),
               &reasons = table.values<std::int8_t>("reason");
    const auto &kind_names = table.column("kind").enum_names,
               &reason_names = table.column("reason").enum_names;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      const bool is_kind = kind_names.at(static_cast<std::size_t>(kinds[i])) == kind;
      if (is_kind && reason_names.at(static_cast<std::size_t>(reasons[i])) != but_reason) ++count;
    }
  }
  return count;
}

double pin_share(CellSpan cells, const LoadTable& load) {
  const double pins = events(cells, load, "pin"),
               declined = events(cells, load, "keep_declined", "last_turn");
  return pins + declined > 0 ? pins / (pins + declined) : sweep::kNotObserved;
}

double figure_mean(CellSpan cells, const std::string& name) {
  Values values;
  for (const ConfiguredCell* cell : cells) values.push_back(cell->figure(name));
  return mean(values);
}

double fit(CellSpan cells, const LoadTable& load, const Words& words) {
  const Values x = gather(cells, load, "steps", words[1]),
               seconds = gather(cells, load, "steps", "dur_s");
  LeastSquares line(1);
  for (std::size_t i = 0; i < x.size(); ++i) line.add(x[i], seconds[i]);
  const std::optional<Plane> fit = line.fit();
  if (!fit) return sweep::kNotObserved;
  if (words[0] == "r2") return fit->r_squared;
  return words[0] == "slope_us" ? fit->slopes[0] * 1e6 : fit->intercept * 1e3;
}

double number_in(const std::string& metric, const std::string& word) {
  double number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size())
    throw std::invalid_argument("metric " + metric + " must have a number for \"" + word + '"');
  return number;
}

/// The metric if its name is one with a colon; empty otherwise.
std::optional<double> of_table(const std::string& metric, const Words& words, CellSpan cells,
                               const LoadTable& load) {
  const std::string &what = words[0], &first = words.size() > 1 ? words[1] : words[0];
  const auto number = [&](std::size_t i) { return number_in(metric, words.at(i)); };
  if (words.size() == 2) {
    if (what == "turn_latency_s") return turn_latency(cells, load, number(1));
    if (what == "turn_median") return percentile(gather(cells, load, "turns", first), 50);
    if (what == "step_mean") return mean(gather(cells, load, "steps", first));
    if (what == "access") return access_metric(first, cells, load);
    if (what == "step_max") return largest(gather(cells, load, "steps", first));
    if (what == "slope_us" || what == "intercept_ms" || what == "r2")
      return fit(cells, load, words);
    if (what == "tool_share") return tool_share(cells, load, first);
    if (metric == "new_tok:min") return fewest_new_tokens(cells, load);
    if (metric == "steps_beyond_output:min") return fewest_steps_beyond_output(cells, load);
    if (metric == "step_share:prefill")
      return share(gather(cells, load, "steps", "n_prefill_tok"), [](double n) { return n > 0; });
  }
  if (words.size() == 3) {
    if (what == "turn_growth")
      return turn_latency(cells, load, number(1)) / turn_latency(cells, load, number(2));
    if (metric.starts_with("step_share:max_tok_upto:"))
      return share(gather(cells, load, "steps", "max_tok"),
                   [most = number(2)](double n) { return n <= most; });
    if (metric.starts_with("step_mode:max_tok_from:"))
      return mode_from(gather(cells, load, "steps", "max_tok"), number(2));
  }
  return std::nullopt;
}

}  // namespace

double claim_metric(const std::string& metric, CellSpan cells, const LoadTable& load) {
  const Words words = sweep::split(metric, ":");
  if (metric == "next_turn_hit") return next_turn_hit(cells, load);
  if (metric == "pin_share") return pin_share(cells, load);
  if (metric == "h2d_gb_per_s") return h2d_rate(cells, load);
  if (words.size() == 1) return figure_mean(cells, metric);
  if (words.size() == 2 && words[0] == "sum")
    return figure_mean(cells, words[1]) * static_cast<double>(cells.size());
  if (const auto value = of_table(metric, words, cells, load)) return *value;
  throw std::invalid_argument("no metric of claims has the form " + metric);
}

}  // namespace analysis
