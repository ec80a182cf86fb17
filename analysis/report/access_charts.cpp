#include "analysis/report/access_charts.hpp"

#include <algorithm>

#include "analysis/compare/kind.hpp"
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

}  // namespace analysis
