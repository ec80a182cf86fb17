#include "analysis/report/panel_charts.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/text/text_table.hpp"

namespace analysis {
namespace {

using Draw = ChartSeries::Draw;

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
    box.add_box(from - gap.finish_s, to - gap.finish_s, low * most, high * most);
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
  for (const auto& [at, tokens] : level) series.add(at - gap.finish_s, tokens);
  if (level.empty()) return;
  series.add(end_of(gap), level.back().second);
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

void add_gap_charts(std::vector<Chart>& charts, const ReportPanel& panel) {
  for (const std::string& rate : panel.rates) {
    Chart chart =
        start_chart(panel, "one-gap", "One gap: a job's KV while its tool runs", {{"rate", rate}});
    const auto found = std::ranges::find(panel.gaps, rate, &ComparedGap::jps);
    if (found == panel.gaps.end() || found->timelines.empty()) {
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
      drawn.name = gap.variant + ": " + found_text(gap);
      drawn.x = {.name = "time since the turn ended [s]", .from = 0, .to = until};
      drawn.y.name = "tokens";
      add_level(drawn, gap, colored("KV on the GPU", "vram", Draw::steps), gap.gpu);
      ChartSeries host = colored("KV in host memory", "dram", Draw::steps);
      host.dashed = true;
      add_level(drawn, gap, std::move(host), gap.host);
      add_stages(drawn, gap, most);
    }
    chart.note = "KV of job " + found->gap.id + " between its turns " +
                 std::to_string(found->gap.turn + 1) + " and " +
                 std::to_string(found->gap.turn + 2) + " at " + rate_text(rate) +
                 ", in tokens, from the recorded events; what the next turn found is recorded too. "
                 "Below it what the job does, above it how long it was pinned. " +
                 panel.place.kind + ", the first repeat.";
    charts.push_back(std::move(chart));
  }
}

}  // namespace analysis
