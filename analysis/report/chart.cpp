#include "analysis/report/chart.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "analysis/text/list.hpp"
#include "analysis/text/text_table.hpp"

namespace analysis {
namespace {

/// Six significant digits; null is what was not observed.
Json brief(double value) {
  if (!std::isfinite(value)) return value;
  char text[32];
  const auto [end, error] =
      std::to_chars(text, text + sizeof text, value, std::chars_format::general, 6);
  std::from_chars(text, end, value);
  constexpr double kExact = 1e15;
  if (value == std::trunc(value) && std::abs(value) < kExact)
    return static_cast<std::int64_t>(value);
  return value;
}

Json brief(const std::vector<double>& values) {
  return mapped(values, [](double value) { return brief(value); });
}

/// Leaves out what is as in a new chart.
template <class T>
void set(Json& json, const char* key, const T& value) {
  if (value != T()) json[key] = value;
}

double quantity(const std::string& text) { return number_from(text).value_or(kAnywhere); }

}  // namespace

Json json_of(const ChartAxis& axis) {
  Json json = {{"name", axis.name}};
  set(json, "names", axis.names);
  set(json, "beside", axis.beside);
  set(json, "log", axis.log);
  if (!std::isnan(axis.from)) json["from"] = brief(axis.from);
  if (!std::isnan(axis.to)) json["to"] = brief(axis.to);
  set(json, "of_policies", axis.of_policies);
  return json;
}

Json json_of(const ChartColumn& column) {
  if (const auto* texts = std::get_if<std::vector<std::string>>(&column.values)) return *texts;
  return brief(std::get<std::vector<double>>(column.values));
}

/// The x of the series before need not be repeated.
Json json_of(const ChartSeries& series, const ChartSeries* before) {
  constexpr const char* kDraw[] = {"line", "steps", "dots", "bars", "stack", "boxes"};
  Json json = {{"name", series.name}, {"draw", kDraw[static_cast<std::size_t>(series.draw)]}};
  set(json, "policy", series.policy);
  set(json, "color", series.color);
  set(json, "source", series.source);
  set(json, "mark", series.mark);
  set(json, "dashed", series.dashed);
  set(json, "hollow", series.hollow);
  set(json, "points", series.points);
  set(json, "quiet", series.quiet);
  set(json, "repeats", series.repeats);
  if (before == nullptr || before->x != series.x) json["x"] = brief(series.x);
  json["y"] = brief(series.y);
  if (!series.low.empty()) json["low"] = brief(series.low);
  if (!series.high.empty()) json["high"] = brief(series.high);
  if (!series.end.empty()) json["end"] = brief(series.end);
  for (const ChartColumn& column : series.more) json["more"][column.name] = json_of(column);
  return json;
}

Json json_of(const ChartPanel& panel) {
  Json json = {{"name", panel.name}};
  json["x"] = json_of(panel.x);
  json["y"] = json_of(panel.y);
  set(json, "flat", panel.flat);
  set(json, "downward", panel.downward);
  json["series"] = Json::array();
  for (const ChartSeries& series : panel.series)
    json["series"].push_back(
        json_of(series, &series == panel.series.data() ? nullptr : &series - 1));
  for (const auto& [x, label] : panel.lines)
    json["lines"].push_back(Json::array({brief(x), label}));
  return json;
}

Json json_of(const Chart& chart) {
  Json json = {{"id", chart.id},     {"title", chart.title}, {"note", chart.note},
               {"kind", chart.kind}, {"gpu", chart.gpu},     {"settings", chart.settings},
               {"jps", chart.jps},   {"at", Json::object()}, {"columns", chart.columns}};
  for (const auto& [name, value] : chart.at) json["at"][name] = value;
  set(json, "is_table", chart.is_table);
  set(json, "nothing", chart.nothing);
  json["panels"] = Json::array();
  for (const ChartPanel& panel : chart.panels) json["panels"].push_back(json_of(panel));
  return json;
}

Places::Places(std::vector<std::string> all, bool as_names) {
  for (const std::string& text : all) add_once(texts, text);
  const bool numbers = !texts.empty() && std::ranges::all_of(texts, [](const std::string& text) {
    return std::isfinite(quantity(text));
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
