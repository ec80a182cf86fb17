#include "analysis/report/json.hpp"

namespace analysis {
namespace {

void add_numbers(JsonLine& json, std::string_view key, const std::vector<double>& values) {
  json.key(key).open('[');
  for (const double value : values) add_brief(json, value);
  json.close(']');
}

void add_series(JsonLine& json, const StudySeries& series) {
  json.open('{').key("name").text(series.name);
  json.key("external").text(series.external).key("points").open('[');
  for (const StudyPoint& point : series.points) {
    json.open('[').text(point.x);
    add_brief(add_brief(add_brief(json, point.y), point.low), point.high);
    json.integer(point.repeats).close(']');
  }
  json.close(']').key("published").open('[');
  for (const auto& [x, y] : series.published) add_brief(json.open('[').text(x), y).close(']');
  json.close(']');
  add_numbers(json, "t", series.t);
  add_numbers(json, "level", series.level);
  json.close('}');
}

void add_study_panel(JsonLine& json, const StudyPanel& panel) {
  json.open('{').key("name").text(panel.name).key("series").open('[');
  for (const StudySeries& series : panel.series) add_series(json, series);
  json.close(']').key("marks").open('[');
  for (const StudyMark& mark : panel.marks)
    add_brief(add_brief(json.open('['), mark.t).integer(mark.resumed), mark.level).close(']');
  json.close(']').key("spans").open('[');
  for (const StudySpan& span : panel.spans) {
    json.open('[').integer(span.request).text(span.what);
    add_brief(add_brief(json, span.from), span.to).close(']');
  }
  json.close(']').close('}');
}

}  // namespace

void add_external(JsonLine& json, const ExternalCell& cell) {
  json.open('{').key("file").text(cell.file).key("name").text(cell.name);
  json.key("experiment").text(cell.experiment).key("source").text(cell.source);
  json.key("config").open('[');
  for (const auto& [key, value] : parse_config(cell.record.config_json))
    json.open('[').text(key.text()).text(shown(value)).close(']');
  json.close(']').key("figures").open('[');
  for (const sweep::Figure& figure : cell.record.figures)
    add_brief(json.open('[').text(figure.name), figure.value).close(']');
  json.close(']').close('}');
}

void add_study(JsonLine& json, const StudyChart& chart) {
  constexpr std::string_view kOver[] = {"cells", "forwards", "time", "requests"};
  constexpr std::string_view kDraw[] = {"lines", "bars", "table"};
  const sweep::FigureSpec& figure = chart.figure;
  json.open('{').key("study").text(chart.study).key("figure").text(figure.name);
  json.key("title").text(figure.title).key("source").text(figure.source);
  json.key("note").text(figure.note).key("kind").text(chart.kind).key("gpu").text(chart.gpu);
  json.key("over").text(kOver[static_cast<std::size_t>(figure.over)]);
  json.key("draw").text(kDraw[static_cast<std::size_t>(figure.draw)]);
  json.key("x_name").text(figure.x_name).key("y_name").text(figure.y_name);
  json.key("log_x").boolean(figure.log_x).key("log_y").boolean(figure.log_y);
  add_texts(json.key("experiments"), figure.experiments);
  add_texts(json.key("remarks"), chart.remarks);
  json.key("externals").open('[');
  for (const std::size_t each : chart.externals) json.integer(static_cast<std::int64_t>(each));
  json.close(']').key("panels").open('[');
  for (const StudyPanel& panel : chart.panels) add_study_panel(json, panel);
  json.close(']').close('}');
}

}  // namespace analysis
