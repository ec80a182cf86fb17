#include "analysis/report/report.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/ranking/sentences.hpp"
#include "analysis/report/page_parts.hpp"
#include "analysis/text/json.hpp"

namespace analysis {
namespace {

Json list_of(const auto& items) {
  return mapped(items, [](const auto& item) { return json_of(item); });
}

Json json_of(const Interval& interval) {
  if (std::isnan(interval.low)) return nullptr;
  return Json::array({interval.low, interval.high});
}

/// The runs of an archive, each as pairs of a key and a text.
Json provenance_of(const sweep::Table& table) {
  Json runs = Json::array();
  const std::size_t rows = table.columns.empty() ? 0 : table.rows();
  for (std::size_t row = 0; row < rows; ++row) {
    Json run = Json::array();
    for (const sweep::Column& column : table.columns) {
      const auto* texts = std::get_if<std::vector<std::string>>(&column.data);
      if (texts != nullptr && !(*texts)[row].empty())
        run.push_back(Json::array({column.name, (*texts)[row]}));
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

Json figures_of(const ReportGroup& group) {
  Json figures = Json::object();
  for (const std::string_view metric : kReportMetrics) {
    const Rated& figure = group.figures.find(metric)->second;
    if (std::isnan(figure.mean.value)) continue;
    figures[std::string(metric)] = {{"unit", figure.unit},
                                    {"mean", figure.mean.value},
                                    {"interval", json_of(figure.mean.interval)},
                                    {"ratio", figure.over_fcfs.value},
                                    {"ratio_interval", json_of(figure.over_fcfs.interval)},
                                    {"published", figure.published},
                                    {"standing", figure.standing}};
  }
  return figures;
}

}  // namespace

Json json_of(const ReportArchive& archive) {
  return {{"name", archive.name},
          {"sweep", archive.sweep},
          {"question", archive.question},
          {"spec", archive.spec},
          {"created", archive.created_utc},
          {"tool", archive.tool_version},
          {"cells", archive.cells},
          {"ok", archive.ok},
          {"runs", provenance_of(archive.provenance)}};
}

Json json_of(const AnswerLine& line) { return {{"place", line.place}, {"says", line.says}}; }

Json json_of(const Regime& regime) {
  const Ratio ratio = regime.next.empty() ? Ratio() : regime.next.front().over_winner;
  const Interval margin{ratio.interval.low - 1, ratio.interval.high - 1};
  return {{"kind", regime.place.kind},
          {"settings", regime.place.settings},
          {"gpu", regime.place.gpu},
          {"dram", regime.dram},
          {"jps", regime.jps},
          {"winner", regime.winner},
          {"tied", regime.tied},
          {"undecided", names_of(regime.undecided)},
          {"next", names_of(regime.next)},
          {"value", regime.value.value},
          {"p99", p99_text(regime.tails)},
          {"worse", worse_text(regime.tails)},
          {"margin", ratio.value - 1},
          {"margin_interval", json_of(margin)},
          {"repeats", regime.repeats}};
}

Json json_of(const ReportTable& table) {
  Json columns = Json::array(), numbers = Json::array();
  for (const Grid::Column& column : table.grid.columns) {
    columns.push_back(column.name + (column.unit.empty() ? "" : " [" + column.unit + ']'));
    numbers.push_back(column.is_number);
  }
  return {{"part", table.part},   {"heading", table.heading}, {"kind", table.kind},
          {"columns", columns},   {"numbers", numbers},       {"rows", table.grid.rows},
          {"notes", table.notes}, {"sources", table.sources}};
}

Json json_of(const ReportGroup& group) {
  return {{"jps", group.jps},
          {"variant", group.variant},
          {"dram", group.dram},
          {"repeats", group.repeats.size()},
          {"p99", p99_text({&group.tail, 1})},
          {"worse", worse_text({&group.tail, 1})},
          {"from", group.from},
          {"label", group.repeats.front()->record->label},
          {"figures", figures_of(group)}};
}

Json json_of(const ReportPanel& panel) {
  const auto acts = mapped(panel.rates, [&](const auto& rate) { return acts_table(panel, rate); });
  return {{"kind", panel.place.kind},   {"gpu", panel.place.gpu},
          {"name", panel.name},         {"settings", panel.place.settings},
          {"devices", panel.devices},   {"rates", panel.rates},
          {"variants", panel.variants}, {"groups", list_of(panel.groups)},
          {"acts", list_of(acts)},      {"charts", list_of(panel_charts(panel))},
          {"sources", panel.sources},   {"remarks", panel.remarks}};
}

std::string report_json(const Report& report, const std::string& program) {
  const auto lacks = [](const MissingCell& cell) { return cell.status != "excluded"; };
  const Json json = {
      {"format", "kvsweep-report"},
      {"version", 1},
      {"program", program},
      {"archives", list_of(report.archives)},
      {"answer", list_of(report.answer.lines)},
      {"answer_heading", report.answer.heading},
      {"coverage", coverage_text(std::vector(report.cells.begin(), report.cells.end()))},
      {"panels", list_of(report.panels)},
      {"regimes", list_of(report.regimes)},
      {"claim_sources", report.claims.sources},
      {"lacks", std::ranges::any_of(report.missing, lacks)},
      {"studies", list_of(report.studies)},
      {"accesses", list_of(report.accesses)},
      {"accesses_left_out", report.accesses_left_out},
      {"tables", list_of(report_tables(report))}};
  return text_of(json);
}

}  // namespace analysis
