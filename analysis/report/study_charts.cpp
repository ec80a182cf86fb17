#include "analysis/report/page_parts.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "analysis/claims/claims.hpp"
#include "analysis/compare/config.hpp"
#include "analysis/compare/published.hpp"
#include "analysis/digest/statistics.hpp"
#include "analysis/text/list.hpp"
#include "sweeps/definition/sweep.hpp"

namespace analysis {
namespace {

namespace fs = std::filesystem;
using sweep::ChartSpec;

/// Cells with a result, by the name of their sweep.
using Experiments = std::map<std::string, std::deque<ConfiguredCell>>;

Experiments experiments_in(std::deque<sweep::ArchiveReader>& archives) {
  Experiments experiments;
  std::set<std::string> seen;
  for (sweep::ArchiveReader& reader : archives) {
    for (const sweep::CellRecord& record : reader.cells()) {
      const bool is_new = record.status == sweep::CellStatus::ok &&
                          seen.insert(reader.sweep_name() + '\n' + record.key).second;
      if (is_new) experiments[reader.sweep_name()].emplace_back(record, reader);
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

bool compares(const ChartSpec& figure, const std::string& key) {
  for (const auto* keys : {&figure.x, &figure.series, &figure.panel})
    if (std::ranges::find(*keys, key) != keys->end()) return true;
  return false;
}

template <class Item>
Item& named(std::vector<Item>& items, const std::string& name) {
  return item_with(items, &Item::name, name);
}

struct DraftPoint {
  std::string name;  // x as displayed
  std::vector<double> values{};
  const ConfiguredCell* first = nullptr;  // from which others should differ only in their seed
};

/// One line or group of bars before its places are known.
struct Draft {
  std::string name;
  std::vector<DraftPoint> points;
  std::vector<std::pair<std::string, double>> published;
};

struct DraftPanel {
  std::string name;
  std::vector<Draft> series;
  ChartPanel drawn;  // over time
};

class ChartBuilder {
 public:
  ChartBuilder(const std::string& study, const ChartSpec& figure, const std::string& kind,
               const std::string& gpu)
      : figure_(figure),
        chart_{.id = "study",
               .title = figure.name + ": " + figure.title,
               .kind = kind,
               .gpu = gpu,
               .at = {{"study", study}, {"figure", figure.name}}} {
    chart_.is_table = figure.draw == ChartSpec::Draw::table;
    const bool in_time =
        figure.over == ChartSpec::Over::time || figure.over == ChartSpec::Over::requests;
    chart_.columns = in_time ? 1 : 3;
  }

  void add(const ConfiguredCell& cell) {
    DraftPanel& panel = named(panels_, figure_.panel_name(label(cell, figure_.panel)));
    switch (figure_.over) {
      case ChartSpec::Over::cells:
        return add_value(cell, panel);
      case ChartSpec::Over::forwards:
        return add_forwards(cell, panel);
      case ChartSpec::Over::time:
        if (is_first(panel)) add_kv_use(panel.drawn, cell.load("steps"), cell.load("evictions"));
        return;
      case ChartSpec::Over::requests:
        if (is_first(panel))
          add_request_spans(panel.drawn, cell.load("steps"), cell.load("sched"),
                            cell.load("evictions"));
        return;
    }
  }

  void add_published() {
    for (const sweep::PublishedPoint& point : figure_.published) {
      for (DraftPanel& panel : panels_) {
        const std::string prefix = figure_.panel.empty() ? "" : panel.name + '.';
        if (!point.place.starts_with(prefix)) continue;
        const std::string place = point.place.substr(prefix.size());
        const std::size_t dot = end_of_series(panel, place);
        named(panel.series, place.substr(0, dot))
            .published.emplace_back(place.substr(dot + 1), point.y);
        has_published_ = true;
        break;
      }
    }
  }

  Chart finish() {
    for (DraftPanel& panel : panels_) chart_.panels.push_back(drawn(panel));
    if (has_published_) chart_.note = "Published: " + figure_.source + '.';
    if (!figure_.note.empty()) chart_.note += (chart_.note.empty() ? "" : " ") + figure_.note;
    for (const std::string& each : remarks_)
      chart_.note += (chart_.note.empty() ? "" : " ") + each + '.';
    return std::move(chart_);
  }

 private:
  std::string series_of(const ConfiguredCell& cell) const {
    return figure_.series_name(label(cell, figure_.series));
  }

  void add_value(const ConfiguredCell& cell, DraftPanel& panel) {
    const double value = cell.figure(figure_.y);
    if (std::isnan(value)) return add_once(remarks_, "some cells have no " + figure_.y);
    DraftPoint& point =
        named(named(panel.series, series_of(cell)).points, figure_.x_value(label(cell, figure_.x)));
    if (point.first == nullptr) point.first = &cell;
    note_differences(*point.first, cell);
    point.values.push_back(value);
  }

  void note_differences(const ConfiguredCell& a, const ConfiguredCell& b) {
    for (const ConfigDifference& difference : config_differences(a.config, b.config))
      if (difference.key != "repeat.seed" && difference.key != "workload.seed")
        add_once(remarks_, "a point is over cells that differ in " + difference.key);
  }

  void add_forwards(const ConfiguredCell& cell, DraftPanel& panel) {
    Draft& series = named(panel.series, series_of(cell));
    if (!series.points.empty()) return add_once(remarks_, "the first of several cells is shown");
    for (const double value : forward_values(cell.load("steps"), figure_.y)) {
      if (figure_.first > 0 && std::cmp_equal(series.points.size(), figure_.first)) break;
      series.points.push_back({std::to_string(series.points.size() + 1), {value}});
    }
  }

  bool is_first(const DraftPanel& panel) {
    if (panel.drawn.series.empty()) return true;
    add_once(remarks_, "the first of several cells is shown");
    return false;
  }

  /// End of the series' name in "SERIES.X". Both parts may contain dots: an existing series
  /// decides, otherwise the last dot.
  static std::size_t end_of_series(const DraftPanel& panel, const std::string& place) {
    for (const Draft& series : panel.series)
      if (place.starts_with(series.name + '.')) return series.name.size();
    return place.rfind('.');
  }

  ChartPanel drawn(DraftPanel& draft) const {
    ChartPanel panel = std::move(draft.drawn);
    panel.name = draft.name;
    if (chart_.columns == 1) {
      panel.x.name = figure_.x_name.empty() ? "time [s]" : figure_.x_name;
      if (figure_.over == ChartSpec::Over::time) panel.y.name = "KV in use [%]";
      return panel;
    }
    std::vector<std::string> xs;
    for (const Draft& series : draft.series) {
      for (const DraftPoint& point : series.points) xs.push_back(point.name);
      for (const auto& point : series.published) xs.push_back(point.first);
    }
    const Places places(std::move(xs), figure_.draw != ChartSpec::Draw::lines);
    panel.x = places.axis(figure_.x_name);
    panel.y.name = figure_.y_name;
    panel.x.log = figure_.log_x && places.is_numeric ? 2 : 0;
    panel.y.log = figure_.log_y ? 10 : 0;
    if (!figure_.log_y) panel.y.from = 0;
    for (std::size_t i = 0; i < draft.series.size(); ++i)
      add_series(panel, draft.series[i], i, places);
    return panel;
  }

  void add_series(ChartPanel& panel, const Draft& draft, std::size_t number,
                  const Places& places) const {
    const bool bars = figure_.draw == ChartSpec::Draw::bars;
    ChartSeries own{.name = draft.name.empty() ? "these cells" : draft.name,
                    .color = std::to_string(number),
                    .draw = bars ? ChartSeries::Draw::bars : ChartSeries::Draw::line,
                    .points = true};
    ChartSeries theirs = own;
    theirs.name += ", published";
    theirs.source = "published";
    theirs.dashed = theirs.hollow = true;
    const auto x_of = [&](const DraftPoint& point) { return places.at(point.name); };
    std::vector<DraftPoint> points = draft.points;
    std::ranges::stable_sort(points, {}, x_of);
    std::vector<double> repeats;
    for (const DraftPoint& point : points) {
      own.add(x_of(point), percentile(point.values, 50));
      own.low.push_back(std::ranges::min(point.values));
      own.high.push_back(std::ranges::max(point.values));
      repeats.push_back(static_cast<double>(point.values.size()));
    }
    own.more.push_back({"repeats", std::move(repeats)});
    std::vector<std::pair<double, double>> published;
    for (const auto& [x, y] : draft.published) published.emplace_back(places.at(x), y);
    std::ranges::sort(published);
    for (const auto& [x, y] : published) theirs.add(x, y);
    if (!own.x.empty()) panel.series.push_back(std::move(own));
    if (!theirs.x.empty()) panel.series.push_back(std::move(theirs));
  }

  const ChartSpec& figure_;
  Chart chart_;
  std::vector<DraftPanel> panels_;
  std::vector<std::string> remarks_;
  bool has_published_ = false;
};

/// Adds the charts of one figure: one for each kind of figures and card.
void add_charts(std::vector<Chart>& charts, const std::string& study, const ChartSpec& figure,
                const Experiments& experiments) {
  const bool of_cards = compares(figure, "gpu");
  struct Group {
    std::pair<std::string, std::string> of;  // kind and card
    std::vector<const ConfiguredCell*> cells;
  };
  std::vector<Group> groups;
  for (const std::string& experiment : figure.experiments) {
    const auto found = experiments.find(experiment);
    if (found == experiments.end()) continue;
    for (const ConfiguredCell& cell : found->second) {
      if (!matches(cell, figure.where)) continue;
      const std::string card = of_cards ? "" : shown(cell.value("gpu"));
      item_with(groups, &Group::of, {figures_kind(cell), card}).cells.push_back(&cell);
    }
  }
  for (const auto& [of, cells] : groups) {
    ChartBuilder builder(study, figure, of.first, of.second);
    for (const ConfiguredCell* cell : cells) builder.add(*cell);
    builder.add_published();
    charts.push_back(builder.finish());
  }
}

std::vector<ChartSpec> published_figures(const fs::path& path) {
  const sweep::ParamMap params = sweep::load_flat_toml(path.string());
  const std::string source = sweep::ParamReader(params, path.string()).text("source", "");
  return sweep::figures_of(params, path.string(), "", source);
}

/// The figures in the archive's sweep file; none if this version cannot parse the file.
std::vector<ChartSpec> own_figures(const sweep::ArchiveReader& reader) {
  try {
    return sweep::parse_spec(reader.spec_text(), reader.sweep_name()).figures;
  } catch (const sweep::SpecError&) {
    return {};
  }
}

}  // namespace

std::vector<Chart> make_study_charts(std::deque<sweep::ArchiveReader>& archives,
                                     const fs::path& folder) {
  const Experiments experiments = experiments_in(archives);
  std::vector<Chart> charts;
  for (const fs::path& path : toml_files(folder / "published"))
    for (const ChartSpec& figure : published_figures(path))
      add_charts(charts, path.stem().string(), figure, experiments);
  std::set<std::string> done;
  for (const sweep::ArchiveReader& reader : archives) {
    if (!done.insert(reader.spec_text()).second) continue;
    for (const ChartSpec& figure : own_figures(reader))
      add_charts(charts, reader.sweep_name(), figure, experiments);
  }
  return charts;
}

}  // namespace analysis
