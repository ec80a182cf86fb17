#include "analysis/report/page_parts.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/digest/digest.hpp"
#include "sweeps/tables/schema.hpp"

namespace analysis {
namespace {

using Values = std::vector<double>;

constexpr int kSpans = 480;

/// The state of a request between two times.
struct Span {
  int request;
  std::string what;
  double from, to;
};

ChartSeries level_over_time(std::string name, std::string color, const Values& t, double end,
                            const Values& level) {
  ChartSeries series{.name = std::move(name), .color = std::move(color)};
  const Values means = bucket_means(t, level, end, kSpans);
  for (std::size_t span = 0; span < means.size(); ++span) {
    if (std::isnan(means[span])) continue;
    series.add((static_cast<double>(span) + 0.5) * end / kSpans, means[span]);
  }
  return series;
}

double level_at(const Values& t, const Values& level, double at) {
  const auto next = std::upper_bound(t.begin(), t.end(), at);
  return next == t.begin() ? level.front() : level[static_cast<std::size_t>(next - t.begin()) - 1];
}

struct Step {
  double t, dur, stall;
};

std::map<double, Step> steps_by_number(const sweep::Table& steps) {
  const Values number = numbers_of(steps, "step"), t = numbers_of(steps, "t_s"),
               dur = numbers_of(steps, "dur_s"), stall = numbers_of(steps, "stall_s");
  std::map<double, Step> by_number;
  for (std::size_t i = 0; i < number.size(); ++i) {
    const double held = stall.empty() || std::isnan(stall[i]) ? 0 : stall[i];
    by_number[number[i]] = {t[i], dur[i], held};
  }
  return by_number;
}

/// Adds a span, or extends the request's last span if that has the same state.
void add_span(std::vector<Span>& spans, int request, const char* what, double from, double to) {
  constexpr double kTogether = 1e-6;
  if (to <= from) return;
  const auto last = std::find_if(spans.rbegin(), spans.rend(),
                                 [&](const Span& each) { return each.request == request; });
  if (last != spans.rend() && last->what == what && from - last->to < kTogether)
    last->to = to;
  else
    spans.push_back({request, what, from, to});
}

void draw_spans(ChartPanel& panel, const std::vector<Span>& spans) {
  constexpr double kHalf = 0.3;  // of a row
  constexpr std::pair<const char*, const char*> kColors[] = {
      {"prefill", "prefill"},        {"recompute", "again"},    {"decode", "vram"},
      {"preempted", "free"},         {"copied out", "to_host"}, {"copied in", "dram"},
      {"waits for a copy", "stall"},
  };
  std::map<int, double> rows;
  for (const Span& span : spans) rows[span.request] = 0;
  for (double row = 0; auto& [request, at] : rows) {
    at = row++;
    const auto letter = static_cast<char>('A' + static_cast<int>(at));
    panel.y.names.push_back("request " +
                            (rows.size() <= 26 ? std::string(1, letter) : std::to_string(request)));
  }
  panel.downward = true;
  for (const auto& [what, color] : kColors) {
    ChartSeries series{.name = what, .color = color, .draw = ChartSeries::Draw::boxes};
    ChartColumn requests{"request", Values()};
    for (const Span& span : spans) {
      if (span.what != what) continue;
      const double row = rows[span.request];
      series.add_box(span.from, span.to, row - kHalf, row + kHalf);
      std::get<Values>(requests.values).push_back(span.request);
    }
    series.more.push_back(std::move(requests));
    if (!series.x.empty()) panel.series.push_back(std::move(series));
  }
}

}  // namespace

std::vector<double> forward_values(const sweep::Table& steps, const std::string& column) {
  const bool share = column == "window_use";
  Values values = numbers_of(steps, share ? "n_tok" : column);
  if (!share) return values;
  const Values window = numbers_of(steps, "window");
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 100 * values[i] / window[i];
  return values;
}

void add_kv_use(ChartPanel& panel, const sweep::Table& steps, const sweep::Table& evictions) {
  constexpr std::size_t kFew = 40;  // marks that fit on the line itself
  constexpr double kTop = 112, kAbove[] = {109, 104};
  const Values t = numbers_of(steps, "t_s"), dur = numbers_of(steps, "dur_s"),
               used = numbers_of(steps, "blk_used"), pinned = numbers_of(steps, "blk_pinned"),
               cached = numbers_of(steps, "blk_cached"), unused = numbers_of(steps, "blk_free"),
               host = numbers_of(steps, "host_blk_used"), all = numbers_of(steps, "host_blk_total");
  panel.y.from = 0;
  panel.y.to = kTop;
  if (t.empty()) return;
  Values device_use(t.size()), host_use(t.size());
  for (std::size_t i = 0; i < t.size(); ++i) {
    device_use[i] = 100 * (used[i] + pinned[i]) / (used[i] + pinned[i] + cached[i] + unused[i]);
    host_use[i] = all[i] > 0 ? 100 * host[i] / all[i] : 0;
  }
  const double end = t.back() + dur.back();
  panel.series.push_back(level_over_time("device KV", "allocated", t, end, device_use));
  panel.series.push_back(level_over_time("host KV", "stall", t, end, host_use));
  const Values evict = numbers_of(evictions, "t_evict_s"),
               resume = numbers_of(evictions, "t_resume_s");
  const bool few = evict.size() + resume.size() <= kFew;
  for (const bool resumed : {false, true}) {
    ChartSeries marks{.name = resumed ? "resume" : "evict",
                      .color = resumed ? "vram" : "to_host",
                      .mark = resumed ? "up" : "down",
                      .draw = ChartSeries::Draw::dots};
    for (const double at : resumed ? resume : evict) {
      if (std::isnan(at)) continue;
      marks.add(at, few ? level_at(t, device_use, at) : kAbove[resumed]);
    }
    if (!marks.x.empty()) panel.series.push_back(std::move(marks));
  }
}

void add_request_spans(ChartPanel& panel, const sweep::Table& steps, const sweep::Table& sched,
                       const sweep::Table& evictions) {
  std::vector<Span> spans;
  const auto by_number = steps_by_number(steps);
  const Values step = numbers_of(sched, "step"), job = numbers_of(sched, "job"),
               tokens = numbers_of(sched, "tokens"), kind = numbers_of(sched, "kind");
  const Values who = numbers_of(evictions, "job"), evicted = numbers_of(evictions, "t_evict_s"),
               resumed = numbers_of(evictions, "t_resume_s"), out = numbers_of(evictions, "out_s"),
               in = numbers_of(evictions, "in_s");
  std::map<int, double> copied_until;
  for (std::size_t i = 0; i < who.size(); ++i) {
    const int request = static_cast<int>(who[i]);
    add_span(spans, request, "copied out", evicted[i], evicted[i] + out[i]);
    if (std::isnan(resumed[i])) continue;
    add_span(spans, request, "preempted", evicted[i] + out[i], resumed[i]);
    add_span(spans, request, "copied in", resumed[i], resumed[i] + in[i]);
    copied_until[request] = resumed[i] + in[i];
  }
  constexpr double kResumed = static_cast<double>(sweep::SchedKind::resumed);
  constexpr double kPreempted = static_cast<double>(sweep::SchedKind::preempted);
  for (std::size_t i = 0; i < step.size(); ++i) {
    const auto found = by_number.find(step[i]);
    if (found == by_number.end() || kind[i] == kPreempted) continue;
    const auto& [t, dur, stall] = found->second;
    const int request = static_cast<int>(job[i]);
    const bool copied = copied_until.contains(request) && kind[i] == kResumed;
    if (!copied) add_span(spans, request, "waits for a copy", t, t + stall);
    const char* what = tokens[i] <= 1 ? "decode" : kind[i] == kResumed ? "recompute" : "prefill";
    add_span(spans, request, what, t + stall, t + dur);
  }
  draw_spans(panel, spans);
}

}  // namespace analysis
