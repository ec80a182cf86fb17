#include "analysis/report/study_charts.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "analysis/cell/statistics.hpp"
#include "analysis/claims/claims.hpp"
#include "analysis/compare/config.hpp"
#include "analysis/compare/published.hpp"
#include "analysis/report/json.hpp"
#include "analysis/report/report.hpp"
#include "analysis/report/study_timelines.hpp"
#include "sweeps/spec/spec.hpp"

namespace analysis {
namespace {

namespace fs = std::filesystem;
using sweep::FigureSpec;

struct Source {
  sweep::ArchiveReader* reader;
  ConfiguredCell cell;
};
/// Cells with a result, by the name of their sweep.
using Experiments = std::map<std::string, std::deque<Source>>;

Experiments experiments_in(std::deque<sweep::ArchiveReader>& archives) {
  Experiments experiments;
  std::set<std::string> seen;
  for (sweep::ArchiveReader& reader : archives) {
    for (const sweep::CellRecord& record : reader.cells()) {
      const bool is_new = record.status == sweep::CellStatus::ok &&
                          seen.insert(reader.sweep_name() + '\n' + record.key).second;
      if (is_new) experiments[reader.sweep_name()].push_back({&reader, ConfiguredCell(record)});
    }
  }
  return experiments;
}

/// The values of some keys, concatenated; keys that the cell lacks are left out.
std::string label(const ConfiguredCell& cell, const std::vector<std::string>& keys) {
  std::string text;
  for (const std::string& key : keys) {
    const auto value = cell.written(key);
    if (value) text += (text.empty() ? "" : " ") + shown(value);
  }
  return text;
}

bool compares(const FigureSpec& figure, const std::string& key) {
  for (const auto* keys : {&figure.x, &figure.series, &figure.panel})
    if (std::ranges::find(*keys, key) != keys->end()) return true;
  return false;
}

/// The external result's value of `y`, if the figure shows it beside the chart's cells.
double shown_value(const StudyChart& chart, const ExternalCell& external,
                   const ConfiguredCell& cell) {
  const FigureSpec& figure = chart.figure;
  const bool is_beside =
      figure.over == FigureSpec::Over::cells &&
      std::ranges::find(figure.experiments, external.experiment) != figure.experiments.end() &&
      matches(cell, figure.where) && (chart.gpu.empty() || chart.gpu == shown(cell.value("gpu")));
  return is_beside ? cell.figure(figure.y) : sweep::kNotObserved;
}

template <class Item>
Item& named(std::vector<Item>& items, const std::string& name) {
  const auto found = std::ranges::find(items, name, &Item::name);
  if (found != items.end()) return *found;
  items.emplace_back().name = name;
  return items.back();
}

void add_remark(StudyChart& chart, const std::string& remark) {
  if (std::ranges::find(chart.remarks, remark) == chart.remarks.end())
    chart.remarks.push_back(remark);
}

/// The cells of one point, which should differ only in their seed.
struct PointCells {
  const ConfiguredCell* first = nullptr;
  std::vector<double> values;
};

/// Builds one chart cell by cell.
class ChartBuilder {
 public:
  explicit ChartBuilder(StudyChart& chart) : chart_(chart) {}

  void add(const Source& source) {
    const FigureSpec& figure = chart_.figure;
    StudyPanel& panel = named(chart_.panels, figure.panel_name(label(source.cell, figure.panel)));
    switch (figure.over) {
      case FigureSpec::Over::cells:
        return add_value(source.cell, panel);
      case FigureSpec::Over::forwards:
        return add_forwards(source, panel);
      case FigureSpec::Over::time:
        if (is_first(source, panel))
          add_kv_use(panel, load(source, "steps"), load(source, "evictions"));
        return;
      case FigureSpec::Over::requests:
        if (is_first(source, panel))
          add_request_spans(panel, load(source, "steps"), load(source, "sched"),
                            load(source, "evictions"));
        return;
    }
  }

  void finish() {
    for (auto& [place, cells] : points_) {
      const auto& [panel, series, x] = place;
      StudyPoint point{x, percentile(cells.values, 50), *std::ranges::min_element(cells.values),
                       *std::ranges::max_element(cells.values),
                       static_cast<int>(cells.values.size())};
      named(named(chart_.panels, panel).series, series).points.push_back(std::move(point));
    }
    add_published();
  }

  /// Adds a separate series, so that the result never shares a median with cells.
  void add_external(const ExternalCell& external, std::size_t position) {
    const ConfiguredCell cell(external.record);
    const double value = shown_value(chart_, external, cell);
    if (std::isnan(value)) return;
    const FigureSpec& figure = chart_.figure;
    StudyPanel& panel = named(chart_.panels, figure.panel_name(label(cell, figure.panel)));
    const std::string cells = series_of(cell);
    StudySeries& series = panel.series.emplace_back();
    series.name = cells + (cells.empty() ? "" : ", ") + external.name + " (EXTERNAL)";
    series.external = external.source;
    series.points.push_back({figure.x_value(label(cell, figure.x)), value, value, value, 1});
    add_remark(chart_, "EXTERNAL, not run by kvsweep: " + external.name + " is " + external.source);
    chart_.externals.push_back(position);
  }

 private:
  static sweep::Table load(const Source& source, std::string_view table) {
    return source.reader->load_table(source.cell.record->index, table);
  }

  std::string series_of(const ConfiguredCell& cell) const {
    return chart_.figure.series_name(label(cell, chart_.figure.series));
  }

  void add_value(const ConfiguredCell& cell, StudyPanel& panel) {
    const FigureSpec& figure = chart_.figure;
    const double value = cell.figure(figure.y);
    if (std::isnan(value)) return add_remark(chart_, "some cells have no " + figure.y);
    const std::string series = series_of(cell), x = figure.x_value(label(cell, figure.x));
    named(panel.series, series);  // keeps the order of the plan
    const auto key = std::tuple(panel.name, series, x);
    auto found = std::ranges::find(points_, key, &std::pair<Place, PointCells>::first);
    if (found == points_.end()) found = points_.insert(found, {key, {&cell, {}}});
    note_differences(*found->second.first, cell);
    found->second.values.push_back(value);
  }

  void note_differences(const ConfiguredCell& a, const ConfiguredCell& b) {
    for (const ConfigDifference& difference : config_differences(a.config, b.config)) {
      if (difference.key != "repeat.seed" && difference.key != "workload.seed")
        add_remark(chart_, "a point is over cells that differ in " + difference.key);
    }
  }

  void add_forwards(const Source& source, StudyPanel& panel) {
    StudySeries& series = named(panel.series, series_of(source.cell));
    if (!series.points.empty()) return add_remark(chart_, "the first of several cells is shown");
    const FigureSpec& figure = chart_.figure;
    series.points = forward_points(load(source, "steps"), figure.y, figure.first);
  }

  bool is_first(const Source&, const StudyPanel& panel) {
    if (drawn_.insert(panel.name).second) return true;
    add_remark(chart_, "the first of several cells is shown");
    return false;
  }

  void add_published() {
    for (const sweep::PublishedPoint& point : chart_.figure.published) {
      for (StudyPanel& panel : chart_.panels) {
        const std::string prefix = chart_.figure.panel.empty() ? "" : panel.name + '.';
        if (!point.place.starts_with(prefix)) continue;
        const std::string place = point.place.substr(prefix.size());
        const std::size_t dot = end_of_series(panel, place);
        named(panel.series, place.substr(0, dot))
            .published.emplace_back(place.substr(dot + 1), point.y);
        break;
      }
    }
  }

  /// End of the series' name in "SERIES.X". Both parts may contain dots: an existing series
  /// decides, otherwise the last dot.
  static std::size_t end_of_series(const StudyPanel& panel, const std::string& place) {
    for (const StudySeries& series : panel.series)
      if (place.starts_with(series.name + '.')) return series.name.size();
    return place.rfind('.');
  }

  using Place = std::tuple<std::string, std::string, std::string>;  // panel, series, x
  StudyChart& chart_;
  std::vector<std::pair<Place, PointCells>> points_;  // in plan order
  std::set<std::string> drawn_;
};

/// Adds the charts of one figure: one for each kind of figures and card.
void add_charts(std::vector<StudyChart>& charts, const std::string& study, const FigureSpec& figure,
                const Experiments& experiments, const std::deque<ExternalCell>& externals) {
  const bool of_cards = compares(figure, "gpu");
  std::map<std::string, std::vector<const Source*>> cells;
  std::vector<std::string> order;
  for (const std::string& experiment : figure.experiments) {
    const auto found = experiments.find(experiment);
    if (found == experiments.end()) continue;
    for (const Source& source : found->second) {
      if (!matches(source.cell, figure.where)) continue;
      const std::string gpu = of_cards ? "" : shown(source.cell.value("gpu"));
      const std::string key = figures_kind(source.cell) + '\n' + gpu;
      if (!cells.contains(key)) order.push_back(key);
      cells[key].push_back(&source);
    }
  }
  for (const std::string& key : order) {
    const std::size_t line = key.find('\n');
    StudyChart& chart = charts.emplace_back();
    chart.study = study;
    chart.figure = figure;
    chart.kind = key.substr(0, line);
    chart.gpu = key.substr(line + 1);
    ChartBuilder builder(chart);
    for (const Source* source : cells[key]) builder.add(*source);
    builder.finish();
    for (std::size_t i = 0; i < externals.size(); ++i) builder.add_external(externals[i], i);
  }
}

std::vector<FigureSpec> published_figures(const fs::path& path) {
  const sweep::ParamMap params = sweep::load_flat_toml(path.string());
  const auto source = params.find("source");
  const auto* text =
      source == params.end() ? nullptr : std::get_if<std::string>(&source->second.value);
  return sweep::figures_of(params, path.string(), "", text == nullptr ? "" : *text);
}

/// The figures in the archive's sweep file; none if this version cannot parse the file.
std::vector<FigureSpec> own_figures(const sweep::ArchiveReader& reader) {
  try {
    return sweep::parse_spec(reader.spec_text(), reader.sweep_name()).figures;
  } catch (const sweep::SpecError&) {
    return {};
  }
}

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

std::vector<StudyChart> make_study_charts(std::deque<sweep::ArchiveReader>& archives,
                                          const std::deque<ExternalCell>& externals,
                                          const fs::path& folder) {
  const Experiments experiments = experiments_in(archives);
  std::vector<StudyChart> charts;
  for (const fs::path& path : toml_files(folder / "published"))
    for (const FigureSpec& figure : published_figures(path))
      add_charts(charts, path.stem().string(), figure, experiments, externals);
  std::set<std::string> done;
  for (const sweep::ArchiveReader& reader : archives) {
    if (!done.insert(reader.spec_text()).second) continue;
    for (const FigureSpec& figure : own_figures(reader))
      add_charts(charts, reader.sweep_name(), figure, experiments, externals);
  }
  return charts;
}

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
