#include "analysis/report/page_parts.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace analysis {
namespace {

using Draw = ChartSeries::Draw;
using Values = std::vector<double>;

constexpr const char* kAllRates = "all";
constexpr double kFloor = 0.5;  // below one step, where bins of a log histogram are empty

/// The cells of a policy at a rate, or at all rates together, as the published panels have them.
struct Pool {
  std::string variant;
  std::size_t repeats = 0;
  StepDigest steps;
  JobDigest jobs;
};

struct AtRate {
  AtRate(const ReportPanel& of, std::string at) : panel(of), rate(std::move(at)) {
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
  }

  Chart start(const char* id, const char* title, std::map<std::string, std::string> at = {}) const {
    at["rate"] = rate;
    return start_chart(panel, id, title, std::move(at));
  }
  /// "MODELLED (sim, published), 10 jobs/s, 3 repeats."
  std::string about(std::span<const Pool> some) const {
    std::size_t least = some.empty() ? 0 : some.front().repeats, most = least;
    for (const Pool& pool : some) {
      least = std::min(least, pool.repeats);
      most = std::max(most, pool.repeats);
    }
    return panel.place.kind + ", " + rate_text(rate) + ", " +
           (least == most ? "" : std::to_string(least) + " to ") + std::to_string(most) +
           (most == 1 ? " repeat." : " repeats.");
  }
  /// Draws a series of each policy, which `fill` completes.
  void draw(ChartPanel& drawn, auto fill) const {
    for (const Pool& pool : pools) {
      ChartSeries series{.name = pool.variant, .policy = pool.variant, .repeats = pool.repeats};
      fill(series, pool);
      drawn.series.push_back(std::move(series));
    }
  }

  const ReportPanel& panel;
  std::string rate;
  std::vector<Pool> pools;
};

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

Chart parts_chart(const AtRate& of) {
  Chart chart = of.start("why", "Why a policy wins: where the time of a job goes");
  ChartPanel& drawn = chart.panel();
  drawn.flat = drawn.downward = drawn.x.of_policies = true;
  drawn.x.name = "policy";
  drawn.y.name = "mean time of a job [s]";
  std::vector<const Pool*> shown;
  for (const Pool& pool : of.pools) {
    if (pool.jobs.jct_s.empty()) continue;
    shown.push_back(&pool);
    drawn.x.names.push_back(pool.variant);
  }
  for (std::size_t part = 0; part < kJctParts.size(); ++part) {
    const auto& [name, column, color] = kJctParts[part];
    ChartSeries series{.name = name, .color = color, .draw = Draw::stack};
    for (std::size_t i = 0; i < shown.size(); ++i) {
      series.add(static_cast<double>(i),
                 shown[i]->jobs.part_s[part] / static_cast<double>(shown[i]->jobs.jct_s.size()));
      series.repeats = std::max(series.repeats, shown[i]->repeats);
    }
    if (std::ranges::any_of(series.y, [](double y) { return y > 1e-3; }))
      drawn.series.push_back(std::move(series));
  }
  chart.note =
      "Mean job completion time by what it was spent on. Gap: a tool runs. " + of.about(of.pools);
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

const StepSizes& sizes_of(const Pool& pool, bool largest) {
  return largest ? pool.steps.largest : pool.steps.total;
}

Chart tokens_chart(const AtRate& of, bool largest) {
  Chart chart =
      of.start("tokens", "Forward tokens per step", {{"x", largest ? "largest" : "total"}});
  ChartPanel& drawn = chart.panel();
  drawn.x = {.name = tokens_text(largest), .log = 10, .from = kFloor};
  drawn.y = {.name = "number of steps", .log = 10, .from = kFloor};
  of.draw(drawn, [&](ChartSeries& series, const Pool& pool) {
    series.draw = Draw::steps;
    add_outline(series, sizes_of(pool, largest).histogram);
  });
  chart.note =
      "Steps by size, in quarter octaves, both axes logarithmic; 0.5: none. " + of.about(of.pools);
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
  drawn.series.push_back(
      {.name = pool.variant + ", least squares",
       .policy = pool.variant,
       .dashed = true,
       .quiet = true,
       .repeats = pool.repeats,
       .x = {0, end},
       .y = {fit->intercept * 1e3, (fit->intercept + end * fit->slopes[0]) * 1e3}});
}

Chart step_time_chart(const AtRate& of, bool largest) {
  Chart chart =
      of.start("step-time", "Step time over tokens", {{"x", largest ? "largest" : "total"}});
  ChartPanel& drawn = chart.panel();
  drawn.x.name = tokens_text(largest);
  drawn.y.name = "step duration [ms]";
  double end = 1;
  LeastSquares all(1);
  of.draw(drawn, [&](ChartSeries& series, const Pool& pool) {
    const StepSizes& sizes = sizes_of(pool, largest);
    all.add(sizes.line);
    series.draw = Draw::dots;
    Values steps;
    for (const ThinnedPoints::Point& point : sizes.points.points()) {
      series.add(point.x, point.y * 1e3);
      steps.push_back(static_cast<double>(point.count));
      end = std::max(end, point.x);
    }
    series.more.push_back({"steps", std::move(steps)});
  });
  drawn.x.to = end;
  for (const Pool& pool : of.pools) add_fit(drawn, pool, sizes_of(pool, largest).line, end);
  chart.note = "All policies: " + fit_text(all) +
               ". Dashed: least squares of each policy, over all steps; a dot is one step of each "
               "twelfth of an octave in both directions, larger where it stands for more. " +
               of.about(of.pools);
  return chart;
}

Chart turns_chart(const AtRate& of, bool add_up) {
  Chart chart = of.start("turns", "Turn duration by turn", {{"turns", add_up ? "sum" : "each"}});
  ChartPanel& drawn = chart.panel();
  drawn.x = {.name = "turn", .from = 1};
  drawn.y = {.name = add_up ? "duration of the turns so far [s]" : "mean turn duration [s]",
             .from = 0};
  of.draw(drawn, [&](ChartSeries& series, const Pool& pool) {
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
  });
  chart.note = std::string("From arrival to last token, time in queue included") +
               (add_up ? "; means of the turns, added up. " : ". ") + of.about(of.pools);
  return chart;
}

Chart jct_chart(const AtRate& of) {
  Chart chart = of.start("jct", "Job completion times");
  ChartPanel& drawn = chart.panel();
  drawn.x.name = "job completion time [s]";
  drawn.y = {.name = "jobs that took no longer [%]", .from = 0, .to = 100};
  std::size_t jobs = 0;
  of.draw(drawn, [&](ChartSeries& series, const Pool& pool) {
    Values sorted = pool.jobs.jct_s;
    std::ranges::sort(sorted);
    jobs = std::max(jobs, sorted.size());
    for (int percent = 0; percent <= 100 && !sorted.empty(); ++percent)
      series.add(percentile(sorted, percent), percent);
  });
  chart.note = "First arrival to last token; " + std::to_string(jobs) + " jobs of a policy. " +
               of.about(of.pools);
  return chart;
}

Chart hits_chart(const AtRate& of, const Pool& pool) {
  struct Source {
    const char *name, *color;
    double TurnSums::*tokens;
  };
  constexpr Source kSources[] = {{"hits on the GPU", "vram", &TurnSums::gpu_tok},
                                 {"hits in host memory", "dram", &TurnSums::host_tok},
                                 {"recomputed", "again", &TurnSums::again_tok},
                                 {"computed, new", "fresh", &TurnSums::new_tok}};
  Chart chart = of.start("hits", "Where prompt tokens came from", {{"policy", pool.variant}});
  ChartPanel& drawn = chart.panel();
  drawn.x.name = "turn";
  drawn.y.name = "mean prompt tokens";
  const std::vector<TurnSums>& turns = pool.jobs.by_turn;
  for (std::size_t i = 0; i < turns.size(); ++i) drawn.x.names.push_back(std::to_string(i + 1));
  for (const Source& source : kSources) {
    ChartSeries series{
        .name = source.name, .color = source.color, .draw = Draw::stack, .repeats = pool.repeats};
    for (std::size_t i = 0; i < turns.size(); ++i)
      series.add(static_cast<double>(i),
                 turns[i].*source.tokens / static_cast<double>(turns[i].turns));
    drawn.series.push_back(std::move(series));
  }
  chart.note = pool.variant + ": where a turn's prompt came from. " + of.about({&pool, 1});
  return chart;
}

/// Logarithmic where the values of y span more than a decade.
void set_scale(ChartPanel& drawn) {
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const ChartSeries& series : drawn.series) {
    for (const double y : series.y) {
      least = std::min(least, y);
      most = std::max(most, y);
    }
  }
  if (most > 10 * least && least > 0)
    drawn.y.log = 10;
  else
    drawn.y.from = 0;
}

/// Draws a figure of one variant by load, with its published values. Returns whether there are any.
bool add_variant(ChartPanel& drawn, const ReportPanel& panel, const std::string& variant,
                 const char* figure) {
  ChartSeries own{.name = variant, .policy = variant, .points = true};
  ChartSeries theirs{.name = variant + ", published",
                     .policy = variant,
                     .source = "published",
                     .draw = Draw::dots,
                     .hollow = true,
                     .quiet = true};
  for (const ReportGroup& group : panel.groups) {
    if (group.variant != variant) continue;
    const Rated& rated = group.figures.find(figure)->second;
    if (std::isnan(rated.mean.value)) continue;
    const auto x =
        static_cast<double>(std::ranges::find(panel.rates, group.jps) - panel.rates.begin());
    own.add(x, rated.mean.value);
    own.low.push_back(rated.mean.interval.low);
    own.high.push_back(rated.mean.interval.high);
    own.repeats = std::max(own.repeats, group.repeats.size());
    if (!std::isnan(rated.published)) theirs.add(x, rated.published);
  }
  const bool is_published = !theirs.x.empty();
  if (!own.x.empty()) drawn.series.push_back(std::move(own));
  if (is_published) drawn.series.push_back(std::move(theirs));
  return is_published;
}

/// Mean and 99th percentile of job completion over the arrival rate.
Chart load_chart(const ReportPanel& panel) {
  constexpr std::pair<const char*, const char*> kFigures[] = {
      {"jct_wall_mean_s", "mean job completion [s]"},
      {"jct_wall_p99_s", "p99 of job completion [s]"}};
  Chart chart = start_chart(panel, "load", "Mean and tail by load", {});
  chart.columns = 2;
  bool has_published = false;
  for (const auto& [figure, name] : kFigures) {
    ChartPanel& drawn = chart.panels.emplace_back();
    drawn.name = std::string(name).substr(0, std::string(name).find(' '));
    drawn.x = {.name = "arrival rate"};
    for (const std::string& rate : panel.rates) drawn.x.names.push_back(rate_text(rate));
    drawn.y.name = name;
    for (const std::string& variant : panel.variants)
      has_published |= add_variant(drawn, panel, variant, figure);
  }
  for (ChartPanel& drawn : chart.panels) set_scale(drawn);
  std::erase_if(chart.panels, [](const ChartPanel& each) { return each.series.empty(); });
  if (chart.panels.empty()) chart.nothing = "No policy finished a job.";
  chart.note = "Bars: 95 % over repeats, from three on." +
               std::string(has_published ? " Hollow: published values. " : " ") + panel.place.kind +
               '.';
  return chart;
}

}  // namespace

std::string rate_text(const std::string& jps) {
  if (jps == kAllRates) return "all rates together";
  if (jps == "-") return "no arrival rate";
  return jps + (jps == "1" ? " job/s" : " jobs/s");
}

Chart start_chart(const ReportPanel& panel, const char* id, const char* title,
                  std::map<std::string, std::string> at) {
  const auto rate = at.find("rate");
  return {.id = id,
          .title = title,
          .kind = panel.place.kind,
          .gpu = panel.place.gpu,
          .settings = panel.place.settings,
          .jps = rate == at.end() ? "" : rate->second,
          .at = at};
}

std::vector<Chart> panel_charts(const ReportPanel& panel) {
  std::vector<Chart> charts = {load_chart(panel)};
  std::vector<std::string> rates = {kAllRates};
  rates.insert(rates.end(), panel.rates.begin(), panel.rates.end());
  for (const std::string& rate : rates) {
    const AtRate of(panel, rate);
    finish(charts, parts_chart(of), kNoJobs);
    for (const bool largest : {true, false}) {
      finish(charts, tokens_chart(of, largest), kNoSteps);
      finish(charts, step_time_chart(of, largest), kNoSteps);
    }
    for (const bool add_up : {false, true}) finish(charts, turns_chart(of, add_up), kNoTurns);
    finish(charts, jct_chart(of), kNoJobs);
    for (const Pool& pool : of.pools) finish(charts, hits_chart(of, pool), kNoTurns);
  }
  add_gap_charts(charts, panel);
  return charts;
}

}  // namespace analysis
