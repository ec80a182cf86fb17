#include "analysis/report/chart.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "analysis/report/json.hpp"

namespace analysis {
namespace {

void add_numbers(JsonLine& json, std::string_view key, const std::vector<double>& values) {
  if (values.empty()) return;
  json.key(key).open('[');
  for (const double value : values) add_brief(json, value);
  json.close(']');
}

void add_flag(JsonLine& json, std::string_view key, bool is_set) {
  if (is_set) json.key(key).boolean(true);
}

void add_text(JsonLine& json, std::string_view key, const std::string& text) {
  if (!text.empty()) json.key(key).text(text);
}

void add_limit(JsonLine& json, std::string_view key, double value) {
  if (!std::isnan(value)) add_brief(json.key(key), value);
}

void add_axis(JsonLine& json, std::string_view key, const ChartAxis& axis) {
  json.key(key).open('{').key("name").text(axis.name);
  if (!axis.names.empty()) add_texts(json.key("names"), axis.names);
  if (axis.log != 0) json.key("log").integer(axis.log);
  add_limit(json, "from", axis.from);
  add_limit(json, "to", axis.to);
  add_flag(json, "of_policies", axis.of_policies);
  json.close('}');
}

void add_column(JsonLine& json, const ChartColumn& column) {
  json.raw_key('"' + column.name + '"');
  if (const auto* texts = std::get_if<std::vector<std::string>>(&column.values)) {
    add_texts(json, *texts);
    return;
  }
  json.open('[');
  for (const double value : std::get<std::vector<double>>(column.values)) add_brief(json, value);
  json.close(']');
}

/// The x of the series before need not be repeated.
void add_series(JsonLine& json, const ChartSeries& series, const ChartSeries* before) {
  constexpr std::string_view kDraw[] = {"line", "steps", "filled", "area",
                                        "dots", "bars",  "stack",  "boxes"};
  json.open('{').key("name").text(series.name);
  json.key("draw").text(kDraw[static_cast<std::size_t>(series.draw)]);
  add_text(json, "policy", series.policy);
  add_text(json, "color", series.color);
  add_text(json, "source", series.source);
  add_text(json, "mark", series.mark);
  add_flag(json, "dashed", series.dashed);
  add_flag(json, "hollow", series.hollow);
  add_flag(json, "points", series.points);
  add_flag(json, "right", series.right);
  add_flag(json, "quiet", series.quiet);
  if (series.repeats > 0) json.key("repeats").integer(static_cast<std::int64_t>(series.repeats));
  if (before == nullptr || before->x != series.x) {
    json.key("x").open('[');
    for (const double x : series.x) add_brief(json, x);
    json.close(']');
  }
  json.key("y").open('[');
  for (const double y : series.y) add_brief(json, y);
  json.close(']');
  add_numbers(json, "low", series.low);
  add_numbers(json, "high", series.high);
  add_numbers(json, "end", series.end);
  if (!series.more.empty()) {
    json.key("more").open('{');
    for (const ChartColumn& column : series.more) add_column(json, column);
    json.close('}');
  }
  json.close('}');
}

void add_chart_panel(JsonLine& json, const ChartPanel& panel) {
  json.open('{').key("name").text(panel.name);
  add_text(json, "says", panel.says);
  add_axis(json, "x", panel.x);
  add_axis(json, "y", panel.y);
  if (!panel.right.name.empty()) add_axis(json, "right", panel.right);
  add_flag(json, "flat", panel.flat);
  add_flag(json, "downward", panel.downward);
  json.key("series").open('[');
  for (const ChartSeries& series : panel.series)
    add_series(json, series, &series == panel.series.data() ? nullptr : &series - 1);
  json.close(']');
  if (!panel.lines.empty()) {
    json.key("lines").open('[');
    for (const auto& [x, label] : panel.lines) add_brief(json.open('['), x).text(label).close(']');
    json.close(']');
  }
  json.close('}');
}

bool reads(const std::string& text, double& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
}

double quantity(const std::string& text) {
  double value = kAnywhere;
  reads(text, value);
  return value;
}

}  // namespace

void add_chart(JsonLine& json, const Chart& chart) {
  json.open('{').key("id").text(chart.id).key("title").text(chart.title);
  json.key("note").text(chart.note).key("kind").text(chart.kind).key("gpu").text(chart.gpu);
  json.key("settings").text(chart.settings).key("jps").text(chart.jps);
  json.key("at").open('{');
  for (const auto& [name, value] : chart.at) json.key(name).text(value);
  json.close('}').key("columns").integer(static_cast<std::int64_t>(chart.columns));
  add_flag(json, "is_table", chart.is_table);
  add_text(json, "nothing", chart.nothing);
  json.key("panels").open('[');
  for (const ChartPanel& panel : chart.panels) add_chart_panel(json, panel);
  json.close(']').close('}');
}

Places::Places(std::vector<std::string> all, bool as_names) {
  for (std::string& text : all)
    if (std::ranges::find(texts, text) == texts.end()) texts.push_back(std::move(text));
  const bool numbers = !texts.empty() && std::ranges::all_of(texts, [](const std::string& text) {
    double value;
    return reads(text, value);
  });
  if (numbers) std::ranges::sort(texts, {}, quantity);
  is_numeric = numbers && !as_names;
}

double Places::at(const std::string& text) const {
  if (is_numeric) return quantity(text);
  return static_cast<double>(std::ranges::find(texts, text) - texts.begin());
}

ChartAxis Places::axis(std::string name) const {
  ChartAxis axis;
  axis.name = std::move(name);
  if (!is_numeric) axis.names = texts;
  return axis;
}

}  // namespace analysis
