#include "analysis/report/report.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/report/page_parts.hpp"
#include "analysis/text/text_table.hpp"
#include "sweeps/tables/schema.hpp"
#include "sweeps/tables/table_row.hpp"

namespace analysis {
namespace {

using Values = std::vector<double>;
using Row = sweep::TableRow;
using sweep::KvEventKind;

/// Tokens of a job in one memory since its turn ended, as a step function of time.
class Level {
 public:
  Level(const GapTimeline& gap, double tokens)
      : from_s_(gap.finish_s), most_(gap.context_tok), line_{{from_s_, tokens}} {}
  void change(double at_s, double by_tok) { set(at_s, line_.back().second + by_tok); }
  /// Only the last of the changes before the end of the turn counts.
  void set(double at_s, double tokens) {
    tokens = std::clamp(tokens, 0.0, most_);
    if (at_s < from_s_) line_.back().second = tokens;
    if (tokens != line_.back().second) line_.emplace_back(at_s, tokens);
  }
  std::vector<std::pair<double, double>> finish() { return std::move(line_); }

 private:
  double from_s_, most_;
  std::vector<std::pair<double, double>> line_;
};

/// The row of a turn; the number of rows if there is none.
std::size_t row_of(const sweep::Table& turns, int job, int turn) {
  Row row{turns, 0};
  const std::size_t end = turns.rows();
  while (row.row < end && (row.count("job") != job || row.count("turn") != turn)) ++row.row;
  return row.row;
}

void read_turns(const Row& left, const Row& next, int block_tok, GapTimeline& timeline) {
  // The last generated token is never fed back, so it has no KV.
  const int context = left.count("prompt_tok") + left.count("output_tok") - 1;
  timeline.context_tok = context / block_tok * block_tok;
  timeline.finish_s = left.number("t_finish_s");
  timeline.return_s = next.number("t_arrive_s");
  timeline.admit_s = next.number("t_admit_s");
  timeline.first_s = next.number("t_first_token_s");
  timeline.end_s = next.number("t_finish_s");
  timeline.found_gpu_tok = next.count("cached_gpu_tok");
  timeline.found_host_tok = next.count("cached_host_tok");
  timeline.computed_tok =
      std::max(0.0, next.count("prompt_tok") - timeline.found_gpu_tok - timeline.found_host_tok);
}

/// Follows the events of the job until its next turn is admitted.
void follow(const ChosenGap& gap, const sweep::Table& events, int block_tok,
            GapTimeline& timeline) {
  Level gpu(timeline, timeline.context_tok), host(timeline, 0);
  const double until = std::isnan(timeline.admit_s) ? timeline.return_s : timeline.admit_s;
  double pinned_from = -1;
  const std::size_t end = events.rows();
  for (Row event{events, 0}; event.row < end; ++event.row) {
    const double at = event.number("t_s");
    if (event.count("job") != gap.job || at > until) continue;
    const auto kind = static_cast<KvEventKind>(event.at<std::int8_t>("kind"));
    const double tokens = static_cast<double>(event.count("blocks")) * block_tok;
    const bool in_gap = at >= timeline.finish_s, of_turn = event.count("turn") == gap.turn;
    if (kind == KvEventKind::pin && of_turn) pinned_from = std::max(at, timeline.finish_s);
    if (kind == KvEventKind::unpin && of_turn && pinned_from >= 0)
      timeline.pinned.emplace_back(std::exchange(pinned_from, -1), at);
    if (kind == KvEventKind::store || kind == KvEventKind::disk_load) host.change(at, tokens);
    if (kind == KvEventKind::evict_host) host.change(at, -tokens);
    if (kind == KvEventKind::evict_gpu && in_gap) gpu.change(at, -tokens);
    if (kind == KvEventKind::prefetch && in_gap) gpu.change(at, tokens);
  }
  if (pinned_from >= 0) timeline.pinned.emplace_back(pinned_from, until);
  // The hits of the next turn are recorded; at its first token all its KV is on the GPU.
  const bool is_admitted = !std::isnan(timeline.admit_s);
  if (is_admitted) gpu.set(timeline.admit_s, timeline.found_gpu_tok);
  if (is_admitted && !std::isnan(timeline.first_s)) gpu.set(timeline.first_s, timeline.context_tok);
  timeline.gpu = gpu.finish();
  timeline.host = host.finish();
}

using Draw = ChartSeries::Draw;

void add_stages(ChartPanel& drawn, const GapTimeline& gap, double most) {
  constexpr double kLow = -0.3, kHigh = -0.06, kPinLow = 1.06,
                   kPinHigh = 1.2;  // of the KV's height
  const auto or_else = [](double value, double otherwise) {
    return std::isnan(value) ? otherwise : value;
  };
  const auto add = [&](const char* what, const char* color, double from, double to, double low,
                       double high) {
    if (!(to > from)) return;
    ChartSeries box{.name = what, .color = color, .draw = Draw::boxes, .repeats = 1};
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

void add_level(ChartPanel& drawn, const GapTimeline& gap, ChartSeries series,
               const std::vector<std::pair<double, double>>& level) {
  for (const auto& [at, tokens] : level) series.add(at - gap.finish_s, tokens);
  if (level.empty()) return;
  series.add(end_of(gap), level.back().second);
  series.draw = Draw::steps;
  series.repeats = 1;
  drawn.series.push_back(std::move(series));
}

std::string found_text(const GapTimeline& gap) {
  const auto tokens = [](double count) { return four_digits(std::round(count)); };
  return tokens(gap.context_tok) + " tokens left; found " + tokens(gap.found_gpu_tok) +
         " on the GPU and " + tokens(gap.found_host_tok) + " in host memory, computed " +
         tokens(gap.computed_tok);
}

}  // namespace

ChosenGap choose_gap(const sweep::Table& jobs, const sweep::Table& turns) {
  const Values number = numbers_of(jobs, "job"), job = numbers_of(turns, "job");
  std::vector<std::pair<int, std::size_t>> with_gap;  // job and its row
  for (std::size_t row = 0; row < number.size(); ++row)
    if (std::ranges::count(job, number[row]) > 1)
      with_gap.emplace_back(static_cast<int>(number[row]), row);
  if (with_gap.empty()) return {};
  std::ranges::sort(with_gap);
  const auto [chosen, row] = with_gap[with_gap.size() / 2];
  const auto n_turns = static_cast<int>(std::ranges::count(job, static_cast<double>(chosen)));
  return {chosen, (n_turns - 1) / 2, jobs.values<std::string>("id")[row]};
}

bool replay_gap(const ChosenGap& gap, const sweep::Table& turns, const sweep::Table& events,
                int block_tok, GapTimeline& timeline) {
  const std::size_t left = row_of(turns, gap.job, gap.turn),
                    next = row_of(turns, gap.job, gap.turn + 1);
  if (gap.turn < 0 || std::max(left, next) >= turns.rows()) return false;
  read_turns({turns, left}, {turns, next}, block_tok, timeline);
  if (std::isnan(timeline.finish_s) || std::isnan(timeline.return_s)) return false;
  follow(gap, events, block_tok, timeline);
  return true;
}

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
      add_level(drawn, gap, {.name = "KV on the GPU", .color = "vram"}, gap.gpu);
      add_level(drawn, gap, {.name = "KV in host memory", .color = "dram", .dashed = true},
                gap.host);
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
