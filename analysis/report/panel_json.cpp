#include <cmath>

#include "analysis/report/json.hpp"
#include "analysis/report/panel_charts.hpp"

namespace analysis {
namespace {

Json figures_of(const ReportGroup& group) {
  Json figures = Json::object();
  for (const std::string_view metric : kReportMetrics) {
    const Rated& figure = group.figures.find(metric)->second;
    if (std::isnan(figure.mean.value)) continue;
    Json& json =
        figures[std::string(metric)] = {{"unit", figure.unit},
                                        {"mean", figure.mean.value},
                                        {"interval", json_of(figure.mean.interval)},
                                        {"ratio", figure.over_fcfs.value},
                                        {"ratio_interval", json_of(figure.over_fcfs.interval)},
                                        {"published", figure.published},
                                        {"standing", figure.standing}};
    if (!std::isnan(figure.bound)) json["bound"] = figure.bound;
    figures[std::string(metric)] = std::move(json);
  }
  return figures;
}

Json cells_of(const ReportGroup& group) {
  Json cells = Json::array();
  for (const ConfiguredCell* cell : group.repeats) {
    const sweep::CellRecord& record = *cell->record;
    cells.push_back({{"index", record.index},
                     {"key", record.key.substr(0, 12)},
                     {"label", record.label},
                     {"seed", record.seed}});
  }
  return cells;
}

}  // namespace

Json json_of(const ReportGroup& group) {
  return {{"jps", group.jps},
          {"variant", group.variant},
          {"dram", group.dram},
          {"repeats", group.repeats.size()},
          {"p99", p99_text({&group.tail, 1})},
          {"worse", worse_text({&group.tail, 1})},
          {"from", group.from},
          {"cells", cells_of(group)},
          {"figures", figures_of(group)}};
}

Json json_of(const ReportPanel& panel) {
  Json groups = Json::array(), acts = Json::array();
  for (const ReportGroup& group : panel.groups) groups.push_back(json_of(group));
  for (const std::string& rate : panel.rates) acts.push_back(json_of(acts_table(panel, rate)));
  return {{"kind", panel.place.kind},   {"gpu", panel.place.gpu},
          {"name", panel.name},         {"settings", panel.place.settings},
          {"devices", panel.devices},   {"rates", panel.rates},
          {"variants", panel.variants}, {"groups", std::move(groups)},
          {"acts", std::move(acts)},    {"charts", list_of(panel_charts(panel))},
          {"sources", panel.sources},   {"remarks", panel.remarks}};
}

}  // namespace analysis
