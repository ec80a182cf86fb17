#include "analysis/report/page_parts.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "analysis/digest/access_digest.hpp"

namespace analysis {
namespace {

constexpr std::size_t kCharts = 6;
constexpr std::size_t kMarks = 24'000;       // in all charts together
constexpr double kMostRecords = 25e6;        // that are read: about 1.5 GB in memory
constexpr double kFilled = 0.8;              // of a block's row
constexpr std::size_t kLabelledPauses = 12;  // in a chart
constexpr std::size_t kNamedJobs = 8;        // colors before they repeat

using enum sweep::KvAccessKind;
bool is_write(int kind) { return kind == int(write_key) || kind == int(write_value); }
bool is_value(int kind) { return kind == int(read_value) || kind == int(write_value); }

/// Microseconds on an axis with cut pauses. A pause is shortened evenly.
double place_us(const AccessDigest& digest, double t_ns) {
  double shown = t_ns;
  const auto kept = static_cast<double>(digest.kept_pause_ns);
  for (const AccessCut& cut : digest.cuts) {
    const auto from = static_cast<double>(cut.from_ns), lost = static_cast<double>(cut.lost_ns);
    if (t_ns <= from) break;
    shown -= lost * std::min(1.0, (t_ns - from) / (lost + kept));
  }
  return shown / 1e3;
}

std::string pause_text(double ns) { return four_digits(ns / 1e3) + " us"; }

/// The accesses of one request that read, or that write, keys or values.
ChartSeries series_of(const AccessDigest& digest, int job, std::size_t number, bool writes,
                      bool values, const std::map<int, double>& rows, double slots) {
  ChartSeries series{.name = "request " + std::to_string(job) + (writes ? ", write" : ", read"),
                     .color = std::to_string(number),
                     .draw = ChartSeries::Draw::boxes,
                     .hollow = writes,
                     .quiet = writes || number >= kNamedJobs};
  std::map<std::string, std::vector<double>> more;
  for (const AccessMark& mark : digest.marks) {
    if (mark.job != job || is_write(mark.kind) != writes || is_value(mark.kind) != values) continue;
    const auto t = static_cast<double>(mark.t_ns), length = static_cast<double>(mark.dur_ns);
    const double bottom = rows.at(mark.block) - kFilled / 2;
    series.add_box(place_us(digest, t), place_us(digest, t + length),
                   bottom + kFilled * mark.first_slot / slots,
                   bottom + kFilled * (mark.first_slot + mark.n_slots) / slots);
    more["block"].push_back(mark.block);
    more["dur_ns"].push_back(length);
    more["first_slot"].push_back(mark.first_slot);
    more["key_head"].push_back(mark.kv_head);
    more["n_slots"].push_back(mark.n_slots);
    more["step"].push_back(static_cast<double>(mark.step));
    more["t_ns"].push_back(t);
  }
  for (auto& [name, column] : more) series.more.push_back({name, std::move(column)});
  return series;
}

std::string counted(std::int64_t count) { return four_digits(static_cast<double>(count)); }

/// Which part of the log is shown and which is left out.
std::string shown_text(const AccessDigest& digest, double stopped_step) {
  const auto drawn = std::max<std::size_t>(1, digest.marks.size());
  const std::size_t every = (static_cast<std::size_t>(digest.in_steps) + drawn - 1) / drawn;
  std::string text = "Layer " + std::to_string(digest.layer);
  if (!digest.steps.empty()) {
    text += digest.steps.size() > 1 ? ", steps " : ", step ";
    text += std::to_string(digest.steps.front());
    if (digest.steps.size() > 1) text += " to " + std::to_string(digest.steps.back());
  }
  text +=
      ": " + counted(digest.in_steps) + " of the cell's " + counted(digest.records) + " records. ";
  text += every > 1 ? "One access of each " + counted(static_cast<std::int64_t>(every)) +
                          " is drawn, picked at random."
                    : "Every access is drawn.";
  if (!std::isnan(stopped_step))
    text += " Logging stopped before step " + four_digits(stopped_step) + '.';
  return text;
}

std::string note_on(const AccessDigest& digest, double stopped_step, std::size_t num_jobs) {
  std::string note = shown_text(digest, stopped_step) + " Filled: reads; hollow: writes.";
  if (!digest.cuts.empty())
    note += " Dotted: " + std::to_string(digest.cuts.size()) + " pause" +
            (digest.cuts.size() > 1 ? "s" : "") + " of all accesses, cut to " +
            pause_text(static_cast<double>(digest.kept_pause_ns)) + " each.";
  if (num_jobs > kNamedJobs)
    note += " Colors repeat every " + std::to_string(kNamedJobs) + " of " +
            std::to_string(num_jobs) + " requests.";
  return note + " Rows are the blocks in the order of their numbers.";
}

/// Keys above values, a row for each block.
void add_accesses(Chart& chart, const AccessDigest& digest, double stopped_step) {
  std::map<int, double> rows;
  std::set<int> jobs;
  double slots = 1, end = 1;
  for (const AccessMark& mark : digest.marks) {
    rows[mark.block] = 0;
    jobs.insert(mark.job);
    slots = std::max<double>(slots, mark.first_slot + mark.n_slots);
    end = std::max(end, place_us(digest, static_cast<double>(mark.t_ns + mark.dur_ns)));
  }
  std::vector<std::string> names;
  for (auto& [block, row] : rows) {
    row = static_cast<double>(names.size());
    names.push_back(std::to_string(block));
  }
  for (const bool values : {false, true}) {
    ChartPanel& panel = chart.panels.emplace_back();
    panel.name = values ? "V" : "K";
    panel.x = {.name = "time [us], pauses cut", .from = 0, .to = end};
    panel.y = {.name = "block", .names = names};
    for (std::size_t number = 0; const int job : jobs) {
      for (const bool writes : {false, true}) {
        ChartSeries series = series_of(digest, job, number, writes, values, rows, slots);
        if (!series.x.empty()) panel.series.push_back(std::move(series));
      }
      ++number;
    }
    for (const AccessCut& cut : digest.cuts) {
      const auto kept = static_cast<double>(digest.kept_pause_ns);
      const double x = place_us(digest, static_cast<double>(cut.from_ns)) + kept / 2e3;
      const bool says = !values && digest.cuts.size() <= kLabelledPauses;
      panel.lines.emplace_back(x, says ? pause_text(static_cast<double>(cut.lost_ns) + kept) : "");
    }
  }
  chart.note = note_on(digest, stopped_step, jobs.size());
}

void add_chart(std::vector<Chart>& charts, const ConfiguredCell& cell, const AccessLimits& limits) {
  const AccessDigest digest =
      digest_accesses(cell.load("kv_access"), cell.load("access_rows"), limits);
  charts.push_back(
      {.id = "accesses",
       .title = "Accesses over time",
       .kind = figures_kind(cell),
       .gpu = shown(cell.value("gpu")),
       .at = {{"cell", std::to_string(cell.record->index)}, {"label", cell.record->label}}});
  add_accesses(charts.back(), digest, cell.figure("access_stopped_step"));
}

}  // namespace

std::vector<Chart> make_access_charts(const std::deque<ConfiguredCell>& cells,
                                      std::vector<std::string>& left_out) {
  std::vector<const ConfiguredCell*> logged;
  for (const ConfiguredCell& cell : cells) {
    const double records = cell.figure("access_records");
    if (cell.record->status != sweep::CellStatus::ok || !(records > 0)) continue;
    const std::string name = "cell " + std::to_string(cell.record->index);
    if (records > kMostRecords)
      left_out.push_back(name + " has more than 25 million records");
    else if (logged.size() == kCharts)
      left_out.push_back(name + " comes after the first " + std::to_string(kCharts));
    else
      logged.push_back(&cell);
  }
  AccessLimits limits;
  limits.marks = std::min(limits.marks, kMarks / std::max<std::size_t>(1, logged.size()));
  std::vector<Chart> charts;
  for (const ConfiguredCell* cell : logged) add_chart(charts, *cell, limits);
  return charts;
}

}  // namespace analysis
