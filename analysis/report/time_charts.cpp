#include <algorithm>
#include <cmath>

#include "analysis/report/panel_charts.hpp"
#include "analysis/text/text_table.hpp"

namespace analysis {
namespace {

using Draw = ChartSeries::Draw;
using Values = std::vector<double>;

const Values* line_of(const CellTimes& times, std::string_view name) {
  const auto found = std::ranges::find(times.lines, name, &TimeLine::name);
  return found == times.lines.end() ? nullptr : &found->values;
}

/// The middles of the spans over which a cell's lines are means.
Values middles(const CellTimes& times, std::size_t count) {
  Values t;
  for (std::size_t i = 0; i < count; ++i)
    t.push_back((static_cast<double>(i) + 0.5) * times.end_s / static_cast<double>(count));
  return t;
}

std::string means_text(const CellTimes& times) {
  const std::size_t count = times.lines.empty() ? 0 : times.lines.front().values.size();
  return "means over " + std::to_string(count) + " equal spans of time";
}

/// Adds a line of the cell, if it has it, with further lines as columns.
void add_line(ChartPanel& drawn, const CellTimes& times, std::string_view line, ChartSeries series,
              std::initializer_list<std::pair<const char*, const char*>> more = {}) {
  const Values* values = line_of(times, line);
  if (values == nullptr) return;
  series.x = middles(times, values->size());
  series.y = *values;
  series.repeats = 1;
  for (const auto& [name, column] : more)
    if (const Values* other = line_of(times, name)) series.more.push_back({column, *other});
  drawn.series.push_back(std::move(series));
}

ChartSeries colored(const char* name, const char* color, Draw draw) {
  ChartSeries series;
  series.name = name;
  series.color = color;
  series.draw = draw;
  return series;
}

/// "fcfs at 6 jobs/s, seed 43 (repeat 2 of 2); its trace: kvsweep trace m.h5 7 --view"
std::string cell_text(const ReportGroup& group, std::size_t repeat, const std::string& archive) {
  const sweep::CellRecord& cell = *group.repeats[repeat]->record;
  std::string text = group.variant + " at " + rate_text(group.jps) + ", seed " +
                     std::to_string(cell.seed) + " (repeat " + std::to_string(repeat + 1) + " of " +
                     std::to_string(group.repeats.size()) + ')';
  if (!archive.empty())
    text += "; its trace: kvsweep trace " + archive + ' ' + std::to_string(cell.index) + " --view";
  return text;
}

Chart start(const ReportPanel& panel, const char* id, const char* title, const ReportGroup& group,
            std::size_t repeat) {
  Chart chart = start_chart(
      panel, id, title,
      {{"rate", group.jps}, {"policy", group.variant}, {"repeat", std::to_string(repeat)}});
  chart.panel().x.name = "time [s]";
  chart.panel().x.from = 0;
  return chart;
}

void explain(Chart& chart, const std::string& says) {
  if (!chart.panel().series.empty()) {
    chart.note = says;
    return;
  }
  chart.panels.clear();
  chart.nothing = "No steps of this policy here.";
}

Chart pool_chart(const ReportPanel& panel, const ReportGroup& group, std::size_t repeat,
                 const std::string& archive) {
  const CellTimes& times = group.times[repeat];
  Chart chart = start(panel, "pool", "KV pool over time", group, repeat);
  ChartPanel& drawn = chart.panel();
  drawn.y.name = "KV blocks";
  add_line(drawn, times, "used", colored("allocated", "allocated", Draw::area),
           {{"used_min", "least"}, {"used_max", "most"}, {"host", "host_blocks"}});
  add_line(drawn, times, "pinned", colored("pinned", "pinned", Draw::area));
  add_line(drawn, times, "cached", colored("cached", "cached", Draw::area));
  add_line(drawn, times, "free", colored("free", "free", Draw::area));
  explain(chart, "KV blocks by state, " + means_text(times) + "; extremes are in the CSV. " +
                     panel.place.kind + ": " + cell_text(group, repeat, archive) + '.');
  return chart;
}

bool moves(const Values* rates) {
  return rates != nullptr && std::ranges::any_of(*rates, [](double rate) { return rate > 0; });
}

Chart traffic_chart(const ReportPanel& panel, const ReportGroup& group, std::size_t repeat,
                    const std::string& archive) {
  const CellTimes& times = group.times[repeat];
  Chart chart = start(panel, "traffic", "Bytes moved and stalls", group, repeat);
  ChartPanel& drawn = chart.panel();
  const Values* in = line_of(times, "h2d");
  if (in != nullptr && !moves(in) && !moves(line_of(times, "d2h"))) {
    chart.panels.clear();
    chart.nothing = group.variant + " moved no KV between host memory and GPU here.";
    return chart;
  }
  drawn.y.name = "moved [GB/s]";
  add_line(drawn, times, "h2d", colored("to the GPU [GB/s]", "to_device", Draw::line));
  add_line(drawn, times, "d2h", colored("to the host [GB/s]", "to_host", Draw::line));
  const bool stalls = line_of(times, "stall") != nullptr;
  if (stalls) {
    drawn.right = {.name = "stalled [s/s]", .names = {}, .from = 0, .to = 1};
    ChartSeries stall = colored("stalled [s/s], right axis", "stall", Draw::line);
    stall.right = true;
    add_line(drawn, times, "stall", std::move(stall));
  }
  explain(chart, std::string(stalls ? "Stall: time in which the whole batch waited for copies"
                                    : "Stalls by step are not recorded here; those of turns are, "
                                      "in where the time of a job goes") +
                     "; " + means_text(times) + ". " + panel.place.kind + ": " +
                     cell_text(group, repeat, archive) + '.');
  return chart;
}

Chart queue_chart(const ReportPanel& panel, const std::string& rate, std::size_t repeat) {
  Chart chart = start_chart(panel, "queue", "Queue over time",
                            {{"rate", rate}, {"repeat", std::to_string(repeat)}});
  ChartPanel& drawn = chart.panel();
  drawn.x.name = "time [s]";
  drawn.y.name = "waiting requests";
  drawn.x.from = drawn.y.from = 0;
  std::string means;
  for (const ReportGroup& group : panel.groups) {
    if (group.jps != rate || group.times.empty()) continue;
    const CellTimes& times = group.times[std::min(repeat, group.times.size() - 1)];
    means = means_text(times);
    add_line(drawn, times, "waiting", series_of_policy(group.variant, 1),
             {{"waiting_max", "most"}, {"running", "running"}});
  }
  explain(chart, "After admission, " + means + "; extremes are in the CSV. " + panel.place.kind +
                     ", " + rate_text(rate) + ", repeat " + std::to_string(repeat + 1) + '.');
  return chart;
}

/// What the job does from the end of a turn to the end of the next one.
void add_stages(ChartPanel& drawn, const GapTimeline& gap, double most) {
  constexpr double kLow = -0.3, kHigh = -0.06, kPinLow = 1.06,
                   kPinHigh = 1.2;  // of the KV's height
  const auto or_else = [](double value, double otherwise) {
    return std::isnan(value) ? otherwise : value;
  };
  const auto add = [&](const char* what, const char* color, double from, double to, double low,
                       double high) {
    if (!(to > from)) return;
    ChartSeries box = colored(what, color, Draw::boxes);
    box.repeats = 1;
    box.x = {from - gap.finish_s};
    box.end = {to - gap.finish_s};
    box.y = {low * most};
    box.high = {high * most};
    drawn.series.push_back(std::move(box));
  };
  const double admit = or_else(gap.admit_s, gap.return_s), first = or_else(gap.first_s, admit);
  add("tool", "tool", gap.finish_s, gap.return_s, kLow, kHigh);
  add("queue", "queue", gap.return_s, admit, kLow, kHigh);
  add("load and prefill", "prefill", admit, first, kLow, kHigh);
  add("decode", "decode", first, or_else(gap.end_s, first), kLow, kHigh);
  for (const auto& [from, to] : gap.pinned) add("pinned", "pinned", from, to, kPinLow, kPinHigh);
  drawn.y.from = kLow * most;
  drawn.y.to = kPinHigh * most;
}

double end_of(const GapTimeline& gap) {
  for (const double at : {gap.end_s, gap.first_s, gap.admit_s})
    if (!std::isnan(at)) return at - gap.finish_s;
  return gap.return_s - gap.finish_s;
}

/// Tokens in one memory until the end of the next turn.
void add_level(ChartPanel& drawn, const GapTimeline& gap, ChartSeries series,
               const std::vector<std::pair<double, double>>& level) {
  for (const auto& [at, tokens] : level) {
    series.x.push_back(at - gap.finish_s);
    series.y.push_back(tokens);
  }
  if (level.empty()) return;
  series.x.push_back(end_of(gap));
  series.y.push_back(level.back().second);
  series.repeats = 1;
  drawn.series.push_back(std::move(series));
}

/// What the next turn found of what the turn left.
std::string found_text(const GapTimeline& gap) {
  const auto tokens = [](double count) { return four_digits(std::round(count)); };
  return tokens(gap.context_tok) + " tokens left; found " + tokens(gap.found_gpu_tok) +
         " on the GPU and " + tokens(gap.found_host_tok) + " in host memory, computed " +
         tokens(gap.computed_tok);
}

}  // namespace

void add_time_charts(std::vector<Chart>& charts, const ReportPanel& panel,
                     const std::string& archive) {
  std::size_t repeats = 0;
  for (const ReportGroup& group : panel.groups) {
    repeats = std::max(repeats, group.times.size());
    for (std::size_t repeat = 0; repeat < group.times.size(); ++repeat) {
      charts.push_back(pool_chart(panel, group, repeat, archive));
      charts.push_back(traffic_chart(panel, group, repeat, archive));
    }
  }
  for (const std::string& rate : panel.rates)
    for (std::size_t repeat = 0; repeat < repeats; ++repeat)
      charts.push_back(queue_chart(panel, rate, repeat));
}

void add_gap_charts(std::vector<Chart>& charts, const ReportPanel& panel) {
  for (const std::string& rate : panel.rates) {
    Chart chart =
        start_chart(panel, "one-gap", "One gap: a job's KV while its tool runs", {{"rate", rate}});
    const auto found = std::ranges::find(panel.gaps, rate, &OneGap::jps);
    if (found == panel.gaps.end()) {
      chart.nothing = "No job of this cell has two turns.";
      charts.push_back(std::move(chart));
      continue;
    }
    double most = 0, until = 0;
    for (const GapTimeline& gap : found->timelines) {
      most = std::max(most, gap.context_tok);
      until = std::max(until, end_of(gap));
    }
    for (const GapTimeline& gap : found->timelines) {
      ChartPanel& drawn = chart.panels.emplace_back();
      drawn.name = gap.variant;
      drawn.says = found_text(gap);
      drawn.x = {.name = "time since the turn ended [s]", .names = {}, .from = 0, .to = until};
      drawn.y.name = "tokens";
      add_level(drawn, gap, colored("KV on the GPU", "vram", Draw::filled), gap.gpu);
      ChartSeries host = colored("KV in host memory", "dram", Draw::steps);
      host.dashed = true;
      add_level(drawn, gap, std::move(host), gap.host);
      add_stages(drawn, gap, most);
    }
    chart.note = "KV of job " + found->job + " between its turns " +
                 std::to_string(found->turn + 1) + " and " + std::to_string(found->turn + 2) +
                 " at " + rate_text(rate) +
                 ", in tokens, from the recorded events; what the next turn found is recorded too. "
                 "Below it what the job does, above it how long it was pinned. " +
                 panel.place.kind + ", the first repeat.";
    charts.push_back(std::move(chart));
  }
}

}  // namespace analysis
