#include "analysis/report/access_charts.hpp"

#include <algorithm>

#include "analysis/compare/config.hpp"
#include "analysis/report/json.hpp"
#include "analysis/report/panels.hpp"
#include "analysis/report/study_timelines.hpp"

namespace analysis {
namespace {

constexpr std::size_t kCharts = 6;
constexpr std::size_t kMarks = 24'000;  // in all charts together
constexpr double kMostRecords = 25e6;   // that are read: about 1.5 GB in memory
constexpr std::size_t kForwards = 500;

AccessChart chart_of(const ConfiguredCell& cell, const PanelSource& source,
                     const AccessLimits& limits) {
  AccessChart chart;
  chart.kind = figures_kind(cell);
  chart.gpu = shown(cell.value("gpu"));
  chart.label = cell.record->label;
  chart.cell = cell.record->index;
  chart.stopped_step = cell.figure("access_stopped_step");
  const auto load = [&](const char* table) { return source.reader->load_table(source.row, table); };
  chart.digest = digest_accesses(load("kv_access"), load("access_rows"), limits);
  const auto points = forward_points(load("steps"), "window_use", 0);
  chart.forwards = points.size();
  for (std::size_t i = 0; i < std::min(kForwards, points.size()); ++i)
    chart.window_use.push_back(points[i].y);
  return chart;
}

template <class Items, class Number>
void add_column(JsonLine& json, std::string_view key, const Items& items, Number number) {
  json.key(key).open('[');
  for (const auto& item : items) json.integer(number(item));
  json.close(']');
}

void add_marks(JsonLine& json, const std::vector<AccessMark>& marks) {
  json.key("marks").open('{');
  add_column(json, "t_ns", marks, [](const AccessMark& mark) { return mark.t_ns; });
  add_column(json, "dur_ns", marks, [](const AccessMark& mark) { return mark.dur_ns; });
  add_column(json, "step", marks, [](const AccessMark& mark) { return mark.step; });
  add_column(json, "kind", marks, [](const AccessMark& mark) { return mark.kind; });
  add_column(json, "block", marks, [](const AccessMark& mark) { return mark.block; });
  add_column(json, "first_slot", marks, [](const AccessMark& mark) { return mark.first_slot; });
  add_column(json, "n_slots", marks, [](const AccessMark& mark) { return mark.n_slots; });
  add_column(json, "kv_head", marks, [](const AccessMark& mark) { return mark.kv_head; });
  add_column(json, "job", marks, [](const AccessMark& mark) { return mark.job; });
  json.close('}');
}

void add_idle(JsonLine& json, std::string_view key, const std::vector<BlockIdle>& blocks) {
  json.key(key).open('[');
  for (const BlockIdle& block : blocks) {
    json.open('[').integer(block.block);
    add_brief(json, block.idle_share);
    add_brief(add_brief(json, block.longest_pause_s), block.since_last_write_s).close(']');
  }
  json.close(']');
}

}  // namespace

AccessCharts make_access_charts(const std::deque<ConfiguredCell>& cells,
                                const PanelSources& sources) {
  AccessCharts made;
  std::vector<const ConfiguredCell*> logged;
  for (const ConfiguredCell& cell : cells) {
    const double records = cell.figure("access_records");
    if (!sources.contains(&cell) || !(records > 0)) continue;
    const std::string name = "cell " + std::to_string(cell.record->index);
    if (records > kMostRecords) {
      made.left_out.push_back(name + " has more than 25 million records");
    } else if (logged.size() == kCharts) {
      made.left_out.push_back(name + " comes after the first " + std::to_string(kCharts));
    } else {
      logged.push_back(&cell);
    }
  }
  AccessLimits limits;
  limits.marks = std::min(limits.marks, kMarks / std::max<std::size_t>(1, logged.size()));
  for (const ConfiguredCell* cell : logged)
    made.charts.push_back(chart_of(*cell, sources.at(cell), limits));
  return made;
}

void add_access(JsonLine& json, const AccessChart& chart) {
  const AccessDigest& digest = chart.digest;
  json.open('{').key("kind").text(chart.kind).key("gpu").text(chart.gpu);
  json.key("label").text(chart.label).key("cell").integer(chart.cell);
  add_brief(json.key("stopped_step"), chart.stopped_step);
  json.key("records").integer(digest.records).key("layer").integer(digest.layer);
  add_column(json, "steps", digest.steps, [](std::int64_t step) { return step; });
  json.key("in_steps").integer(digest.in_steps);
  add_marks(json, digest.marks);
  json.key("cuts").open('[');
  for (const AccessCut& cut : digest.cuts)
    json.open('[').integer(cut.from_ns).integer(cut.lost_ns).close(']');
  json.close(']').key("kept_pause_ns").integer(digest.kept_pause_ns);
  json.key("blocks").integer(static_cast<std::int64_t>(digest.blocks));
  add_idle(json, "keys", digest.keys);
  add_idle(json, "values", digest.values);
  json.key("window_use").open('[');
  for (const double use : chart.window_use) add_brief(json, use);
  json.close(']').key("forwards").integer(static_cast<std::int64_t>(chart.forwards)).close('}');
}

}  // namespace analysis
