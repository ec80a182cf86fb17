#include "analysis/report/panel_charts.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/text/text_table.hpp"

namespace analysis {
namespace {

using Draw = ChartSeries::Draw;
using Values = std::vector<double>;

constexpr double kFloor = 0.5;  // below one step, where bins of a log histogram are empty

/// The cells of a policy at a rate, or at all rates together, as the published panels have them.
struct Pool {
  std::string variant;
  std::size_t repeats = 0;
  StepDigest steps;
  JobDigest jobs;
};

std::vector<Pool> pools_of(const ReportPanel& panel, const std::string& rate) {
  std::vector<Pool> pools;
  for (const std::string& variant : panel.variants) {
    Pool pool{variant, 0, {}, {}};
    for (const ReportGroup& group : panel.groups) {
      if (group.variant != variant || (rate != kAllRates && group.jps != rate)) continue;
      pool.repeats = std::max(pool.repeats, group.repeats.size());
      pool.steps.add(group.steps);
      pool.jobs.add(group.jobs);
    }
    if (pool.repeats > 0) pools.push_back(std::move(pool));
  }
  return pools;
}

/// "MODELLED (sim, published), 10 jobs/s, 3 repeats"
std::string about(const ReportPanel& panel, const std::string& rate,
                  const std::vector<Pool>& pools) {
  std::size_t least = pools.empty() ? 0 : pools.front().repeats, most = least;
  for (const Pool& pool : pools) {
    least = std::min(least, pool.repeats);
    most = std::max(most, pool.repeats);
  }
  return panel.place.kind + ", " + rate_text(rate) + ", " +
         (least == most ? "" : std::to_string(least) + " to ") + repeats_text(most);
}

/// Puts up with a chart without series, and says why it has none.
void finish(std::vector<Chart>& charts, Chart chart, const char* nothing) {
  const bool has_series = std::ranges::any_of(chart.panels, [](const ChartPanel& panel) {
    return std::ranges::any_of(panel.series,
                               [](const ChartSeries& each) { return !each.x.empty(); });
  });
  if (!has_series) {
    chart.panels.clear();
    chart.nothing = nothing;
  }
  charts.push_back(std::move(chart));
}

constexpr const char* kNoTurns = "No turns here: the cells are stored without them.";
constexpr const char* kNoJobs = "No finished job here.";
constexpr const char* kNoSteps = "No steps here: the cells are stored without them.";

/// Where the time of a job goes.
Chart parts_chart(const ReportPanel& panel, const std::string& rate,
                  const std::vector<Pool>& pools) {
  constexpr const char* kColors[] = {"queue",  "load", "again", "prefill",
                                     "decode", "tool", "other"};
  Chart chart = start_chart(panel, "why", "Why a policy wins: where the time of a job goes",
                            {{"rate", rate}});
  ChartPanel& drawn = chart.panel();
  drawn.flat = drawn.downward = drawn.x.of_policies = true;
  drawn.x.name = "policy";
  drawn.y.name = "mean time of a job [s]";
  std::vector<const Pool*> shown;
  for (const Pool& pool : pools) {
    if (pool.jobs.jct_s.empty()) continue;
    shown.push_back(&pool);
    drawn.x.names.push_back(pool.variant);
  }
  for (std::size_t part = 0; part < kJctParts.size(); ++part) {
    ChartSeries series = colored(std::string(kJctParts[part]), kColors[part], Draw::stack);
    for (std::size_t i = 0; i < shown.size(); ++i) {
      series.add(static_cast<double>(i),
                 shown[i]->jobs.part_s[part] / static_cast<double>(shown[i]->jobs.jct_s.size()));
      series.repeats = std::max(series.repeats, shown[i]->repeats);
    }
    if (std::ranges::any_of(series.y, [](double y) { return y > 1e-3; }))
      drawn.series.push_back(std::move(series));
  }
  chart.note = "Mean job completion time by what it was spent on. Gap: a tool runs. " +
               about(panel, rate, pools) + '.';
  return chart;
}

/// The outline of a log histogram: on the floor where bins are empty.
void add_outline(ChartSeries& series, const TokenHistogram& histogram) {
  double end = -1;
  const auto add = [&](double x, double y) { series.add(std::max(x, kFloor), y); };
  for (const auto& [bin, count] : histogram.counts()) {
    const auto low = static_cast<double>(TokenHistogram::first_of(bin));
    if (end >= 0 && end < low) add(end, kFloor);
    if (end < 0) add(low, kFloor);
    add(low, static_cast<double>(count));
    end = static_cast<double>(TokenHistogram::first_of(bin + 1));
  }
  if (end >= 0) add(end, kFloor);
}

const char* tokens_text(bool largest) {
  return largest ? "tokens of the largest request" : "tokens of the step";
}

std::map<std::string, std::string> at_tokens(const std::string& rate, bool largest) {
  return {{"rate", rate}, {"x", largest ? "largest" : "total"}};
}

Chart tokens_chart(const ReportPanel& panel, const std::string& rate,
                   const std::vector<Pool>& pools, bool largest) {
  Chart chart = start_chart(panel, "tokens", "Forward tokens per step", at_tokens(rate, largest));
  ChartPanel& drawn = chart.panel();
  drawn.x = {.name = tokens_text(largest), .names = {}, .log = 10, .from = kFloor};
  drawn.y = {.name = "number of steps", .names = {}, .log = 10, .from = kFloor};
  for (const Pool& pool : pools) {
    ChartSeries series = series_of_policy(pool.variant, pool.repeats);
    series.draw = Draw::steps;
    add_outline(series, (largest ? pool.steps.largest : pool.steps.total).histogram);
    drawn.series.push_back(std::move(series));
  }
  chart.note = "Steps by size, in quarter octaves, both axes logarithmic; 0.5: none. " +
               about(panel, rate, pools) + '.';
  return chart;
}

std::string fit_text(const LeastSquares& line) {
  const std::optional<Plane> fit = line.fit();
  if (!fit) return "no line fits";
  return "y = " + four_digits(fit->slopes[0] * 1e3) + " x + " + four_digits(fit->intercept * 1e3) +
         " ms, R² = " + four_digits(fit->r_squared) + ", " +
         four_digits(static_cast<double>(line.n())) + " steps";
}

void add_fit(ChartPanel& drawn, const Pool& pool, const LeastSquares& line, double end) {
  const std::optional<Plane> fit = line.fit();
  if (!fit) return;
  ChartSeries series = series_of_policy(pool.variant, pool.repeats);
  series.name += ", least squares";
  series.dashed = series.quiet = true;
  series.x = {0, end};
  series.y = {fit->intercept * 1e3, (fit->intercept + end * fit->slopes[0]) * 1e3};
  drawn.series.push_back(std::move(series));
}

Chart step_time_chart(const ReportPanel& panel, const std::string& rate,
                      const std::vector<Pool>& pools, bool largest) {
  Chart chart = start_chart(panel, "step-time", "Step time over tokens", at_tokens(rate, largest));
  ChartPanel& drawn = chart.panel();
  drawn.x.name = tokens_text(largest);
  drawn.y.name = "step duration [ms]";
  double end = 1;
  LeastSquares all(1);
  for (const Pool& pool : pools) {
    const StepSizes& sizes = largest ? pool.steps.largest : pool.steps.total;
    all.add(sizes.line);
    ChartSeries series = series_of_policy(pool.variant, pool.repeats);
    series.draw = Draw::dots;
    Values steps;
    for (const ThinnedPoints::Point& point : sizes.points.points()) {
      series.add(point.x, point.y * 1e3);
      steps.push_back(static_cast<double>(point.count));
      end = std::max(end, point.x);
    }
    series.more.push_back({"steps", std::move(steps)});
    drawn.series.push_back(std::move(series));
  }
  drawn.x.to = end;
  for (const Pool& pool : pools)
    add_fit(drawn, pool, (largest ? pool.steps.largest : pool.steps.total).line, end);
  chart.note = "All policies: " + fit_text(all) +
               ". Dashed: least squares of each policy, over all steps; a dot is one step of each "
               "twelfth of an octave in both directions, larger where it stands for more. " +
               about(panel, rate, pools) + '.';
  return chart;
}

Chart turns_chart(const ReportPanel& panel, const std::string& rate, const std::vector<Pool>& pools,
                  bool add_up) {
  Chart chart = start_chart(panel, "turns", "Turn duration by turn",
                            {{"rate", rate}, {"turns", add_up ? "sum" : "each"}});
  ChartPanel& drawn = chart.panel();
  drawn.x = {.name = "turn", .names = {}, .from = 1};
  drawn.y = {.name = add_up ? "duration of the turns so far [s]" : "mean turn duration [s]",
             .names = {},
             .from = 0};
  for (const Pool& pool : pools) {
    ChartSeries series = series_of_policy(pool.variant, pool.repeats);
    series.points = true;
    Values counts, p95;
    double sum = 0;
    for (const TurnSums& turn : pool.jobs.by_turn) {
      const double own = mean(turn.durations_s);
      sum += std::isnan(own) ? 0 : own;
      series.add(static_cast<double>(series.x.size() + 1), add_up && !std::isnan(own) ? sum : own);
      counts.push_back(static_cast<double>(turn.turns));
      p95.push_back(percentile(turn.durations_s, 95));
    }
    series.more = {{"turns", std::move(counts)}, {"p95_s", std::move(p95)}};
    drawn.series.push_back(std::move(series));
  }
  chart.note = std::string("From arrival to last token, time in queue included") +
               (add_up ? "; means of the turns, added up. " : ". ") + about(panel, rate, pools) +
               '.';
  return chart;
}

Chart jct_chart(const ReportPanel& panel, const std::string& rate, const std::vector<Pool>& pools) {
  Chart chart = start_chart(panel, "jct", "Job completion times", {{"rate", rate}});
  ChartPanel& drawn = chart.panel();
  drawn.x.name = "job completion time [s]";
  drawn.y = {.name = "jobs that took no longer [%]", .names = {}, .from = 0, .to = 100};
  std::size_t jobs = 0;
  for (const Pool& pool : pools) {
    ChartSeries series = series_of_policy(pool.variant, pool.repeats);
    Values sorted = pool.jobs.jct_s;
    std::ranges::sort(sorted);
    jobs = std::max(jobs, sorted.size());
    for (int percent = 0; percent <= 100 && !sorted.empty(); ++percent)
      series.add(percentile(sorted, percent), percent);
    drawn.series.push_back(std::move(series));
  }
  chart.note = "First arrival to last token; " + std::to_string(jobs) + " jobs of a policy. " +
               about(panel, rate, pools) + '.';
  return chart;
}

/// Sources of prompt tokens by turn.
Chart hits_chart(const ReportPanel& panel, const std::string& rate, const Pool& pool) {
  struct Source {
    const char *name, *color;
    double TurnSums::*tokens;
  };
  constexpr Source kSources[] = {{"hits on the GPU", "vram", &TurnSums::gpu_tok},
                                 {"hits in host memory", "dram", &TurnSums::host_tok},
                                 {"recomputed", "again", &TurnSums::again_tok},
                                 {"computed, new", "fresh", &TurnSums::new_tok}};
  Chart chart = start_chart(panel, "hits", "Where prompt tokens came from",
                            {{"rate", rate}, {"policy", pool.variant}});
  ChartPanel& drawn = chart.panel();
  drawn.x.name = "turn";
  drawn.y.name = "mean prompt tokens";
  const std::vector<TurnSums>& turns = pool.jobs.by_turn;
  for (std::size_t i = 0; i < turns.size(); ++i) drawn.x.names.push_back(std::to_string(i + 1));
  for (const Source& source : kSources) {
    ChartSeries series = colored(source.name, source.color, Draw::stack);
    series.repeats = pool.repeats;
    for (std::size_t i = 0; i < turns.size(); ++i)
      series.add(static_cast<double>(i),
                 turns[i].*source.tokens / static_cast<double>(turns[i].turns));
    drawn.series.push_back(std::move(series));
  }
  chart.note =
      pool.variant + ": where a turn's prompt came from. " + about(panel, rate, {pool}) + '.';
  return chart;
}

}  // namespace

std::string rate_text(const std::string& jps) {
  if (jps == kAllRates) return "all rates together";
  if (jps == "-") return "no arrival rate";
  return jps + (jps == "1" ? " job/s" : " jobs/s");
}

std::string repeats_text(std::size_t repeats) {
  return std::to_string(repeats) + (repeats == 1 ? " repeat" : " repeats");
}

Chart start_chart(const ReportPanel& panel, const char* id, const char* title,
                  std::map<std::string, std::string> at) {
  Chart chart = new_chart(id, title, panel.place.kind, panel.place.gpu, std::move(at));
  chart.settings = panel.place.settings;
  if (const auto rate = chart.at.find("rate"); rate != chart.at.end()) chart.jps = rate->second;
  return chart;
}

ChartSeries series_of_policy(const std::string& variant, std::size_t repeats) {
  ChartSeries series;
  series.name = series.policy = variant;
  series.repeats = repeats;
  return series;
}

std::vector<Chart> panel_charts(const ReportPanel& panel) {
  std::vector<Chart> charts = {load_chart(panel)};
  std::vector<std::string> rates = {kAllRates};
  rates.insert(rates.end(), panel.rates.begin(), panel.rates.end());
  for (const std::string& rate : rates) {
    const std::vector<Pool> pools = pools_of(panel, rate);
    finish(charts, parts_chart(panel, rate, pools), kNoJobs);
    for (const bool largest : {true, false}) {
      finish(charts, tokens_chart(panel, rate, pools, largest), kNoSteps);
      finish(charts, step_time_chart(panel, rate, pools, largest), kNoSteps);
    }
    for (const bool add_up : {false, true})
      finish(charts, turns_chart(panel, rate, pools, add_up), kNoTurns);
    finish(charts, jct_chart(panel, rate, pools), kNoJobs);
    for (const Pool& pool : pools) finish(charts, hits_chart(panel, rate, pool), kNoTurns);
  }
  add_gap_charts(charts, panel);
  return charts;
}

}  // namespace analysis
