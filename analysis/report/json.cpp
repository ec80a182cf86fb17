#include "analysis/report/json.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "analysis/report/plain.hpp"

namespace analysis {
namespace {

void add_provenance(JsonLine& json, const sweep::Table& table) {
  json.open('[');
  const std::size_t rows = table.columns.empty() ? 0 : table.rows();
  for (std::size_t row = 0; row < rows; ++row) {
    json.open('[');
    for (const sweep::Column& column : table.columns) {
      const auto* texts = std::get_if<std::vector<std::string>>(&column.data);
      if (texts == nullptr || (*texts)[row].empty()) continue;
      json.open('[').text(column.name).text((*texts)[row]).close(']');
    }
    json.close(']');
  }
  json.close(']');
}

void add_archive(JsonLine& json, const ReportArchive& archive) {
  json.open('{').key("name").text(archive.name).key("sweep").text(archive.sweep);
  json.key("question").text(archive.question).key("spec").text(archive.spec);
  json.key("created").text(archive.created_utc).key("tool").text(archive.tool_version);
  json.key("cells").integer(archive.cells).key("ok").integer(archive.ok);
  json.key("runs");
  add_provenance(json, archive.provenance);
  json.close('}');
}

void add_line(JsonLine& json, const AnswerLine& line) {
  json.open('{').key("place").text(line.place).key("says").text(line.says).close('}');
}

void add_regime(JsonLine& json, const Regime& regime) {
  const Ratio ratio = regime.next.empty() ? Ratio() : regime.next.front().over_winner;
  json.open('{').key("kind").text(regime.place.kind);
  json.key("settings").text(regime.place.settings).key("gpu").text(regime.place.gpu);
  json.key("dram").text(regime.dram).key("jps").text(regime.jps);
  json.key("winner").text(regime.winner);
  add_texts(json.key("tied"), regime.tied);
  add_texts(json.key("undecided"), names_of(regime.undecided));
  add_texts(json.key("next"), names_of(regime.next));
  add_exact(json.key("value"), regime.value.value);
  json.key("p99").text(p99_text(regime.tails)).key("worse").text(worse_text(regime.tails));
  add_exact(json.key("margin"), ratio.value - 1);
  json.key("margin_interval");
  add_interval(json, {ratio.interval.low - 1, ratio.interval.high - 1});
  json.key("repeats").integer(static_cast<std::int64_t>(regime.repeats)).close('}');
}

}  // namespace

void add_table(JsonLine& json, const ReportTable& table) {
  json.open('{').key("part").text(table.part).key("heading").text(table.heading);
  json.key("kind").text(table.kind).key("columns").open('[');
  for (const Grid::Column& column : table.grid.columns)
    json.text(column.name + (column.unit.empty() ? "" : " [" + column.unit + ']'));
  json.close(']').key("numbers").open('[');
  for (const Grid::Column& column : table.grid.columns) json.boolean(column.is_number);
  json.close(']').key("rows").open('[');
  for (const std::vector<std::string>& row : table.grid.rows) add_texts(json, row);
  json.close(']');
  add_texts(json.key("notes"), table.notes);
  add_texts(json.key("sources"), table.sources);
  json.close('}');
}

namespace {

template <class Items, class Add>
void add_list(JsonLine& json, std::string_view key, const Items& items, Add add) {
  json.key(key).open('[');
  for (const auto& item : items) add(json, item);
  json.close(']');
}

}  // namespace

JsonLine& add_exact(JsonLine& json, double value) {
  return std::isfinite(value) ? json.number(value) : json.null();
}

JsonLine& add_brief(JsonLine& json, double value) {
  if (!std::isfinite(value)) return json.null();
  char text[32];
  const auto [end, error] =
      std::to_chars(text, text + sizeof text, value, std::chars_format::general, 6);
  return json.raw({text, end});
}

void add_interval(JsonLine& json, const Interval& interval) {
  if (std::isnan(interval.low)) {
    json.null();
    return;
  }
  add_exact(add_exact(json.open('['), interval.low), interval.high).close(']');
}

void add_texts(JsonLine& json, std::span<const std::string> texts) {
  json.open('[');
  for (const std::string& text : texts) json.text(text);
  json.close(']');
}

std::string report_json(const Report& report, const std::string& program) {
  JsonLine json;
  json.open('{').key("format").text("kvsweep-report").key("version").integer(1);
  json.key("program").text(program);
  add_list(json, "archives", report.archives, add_archive);
  add_list(json, "answer", report.answer.lines, add_line);
  json.key("answer_heading").text(report.answer.heading);
  add_list(json, "against", report.answer.against, add_line);
  add_list(json, "why", report.answer.why, add_line);
  add_texts(json.key("overridden"), report.answer.overridden);
  add_texts(json.key("idle"), report.answer.idle);
  add_texts(json.key("commands"), report.commands);
  json.key("coverage").text(coverage_text(std::vector(report.cells.begin(), report.cells.end())));
  json.key("goals").text(report.goals.text());
  const std::string archive = report.archives.size() == 1 ? report.archives.front().name : "";
  json.key("panels").open('[');
  for (const ReportPanel& panel : report.panels) add_panel(json, panel, archive);
  json.close(']');
  add_list(json, "regimes", report.regimes, add_regime);
  add_texts(json.key("claim_sources"), report.claims.sources);
  const auto missing = [](const MissingCell& cell) { return cell.status != "excluded"; };
  json.key("lacks").boolean(std::ranges::any_of(report.missing, missing));
  add_list(json, "studies", report.studies.charts, add_chart);
  add_list(json, "accesses", report.accesses, add_chart);
  add_texts(json.key("accesses_left_out"), report.accesses_left_out);
  add_list(json, "tables", report_tables(report), add_table);
  json.close('}');
  return std::string(json.so_far());
}

}  // namespace analysis
