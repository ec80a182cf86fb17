#include "analysis/report/panel_charts.hpp"

#include <algorithm>
#include <cmath>

namespace analysis {
namespace {

using Draw = ChartSeries::Draw;

/// Logarithmic where the values of y span more than a decade.
void set_scale(ChartPanel& drawn) {
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const ChartSeries& series : drawn.series) {
    for (const double y : series.y) {
      least = std::min(least, y);
      most = std::max(most, y);
    }
  }
  if (most > 10 * least && least > 0)
    drawn.y.log = 10;
  else
    drawn.y.from = 0;
}

/// Draws a figure of one variant by load, with its published values. Returns whether there are any.
bool add_variant(ChartPanel& drawn, const ReportPanel& panel, const std::string& variant,
                 const char* figure) {
  ChartSeries own = series_of_policy(variant, 0);
  own.points = true;
  ChartSeries theirs = series_of_policy(variant, 0);
  theirs.name += ", published";
  theirs.source = "published";
  theirs.draw = Draw::dots;
  theirs.hollow = theirs.quiet = true;
  for (const ReportGroup& group : panel.groups) {
    if (group.variant != variant) continue;
    const Rated& rated = group.figures.find(figure)->second;
    if (std::isnan(rated.mean.value)) continue;
    const auto x =
        static_cast<double>(std::ranges::find(panel.rates, group.jps) - panel.rates.begin());
    own.add(x, rated.mean.value);
    own.low.push_back(rated.mean.interval.low);
    own.high.push_back(rated.mean.interval.high);
    own.repeats = std::max(own.repeats, group.repeats.size());
    if (!std::isnan(rated.published)) theirs.add(x, rated.published);
  }
  const bool is_published = !theirs.x.empty();
  if (!own.x.empty()) drawn.series.push_back(std::move(own));
  if (is_published) drawn.series.push_back(std::move(theirs));
  return is_published;
}

}  // namespace

Chart load_chart(const ReportPanel& panel) {
  constexpr std::pair<const char*, const char*> kFigures[] = {
      {"jct_wall_mean_s", "mean job completion [s]"},
      {"jct_wall_p99_s", "p99 of job completion [s]"}};
  Chart chart = start_chart(panel, "load", "Mean and tail by load", {});
  chart.columns = 2;
  bool has_published = false;
  for (const auto& [figure, name] : kFigures) {
    ChartPanel& drawn = chart.panels.emplace_back();
    drawn.name = std::string(name).substr(0, std::string(name).find(' '));
    drawn.x = {.name = "arrival rate"};
    for (const std::string& rate : panel.rates) drawn.x.names.push_back(rate_text(rate));
    drawn.y.name = name;
    for (const std::string& variant : panel.variants)
      has_published |= add_variant(drawn, panel, variant, figure);
  }
  for (ChartPanel& drawn : chart.panels) set_scale(drawn);
  std::erase_if(chart.panels, [](const ChartPanel& each) { return each.series.empty(); });
  if (chart.panels.empty()) chart.nothing = "No policy finished a job.";
  chart.note = "Bars: 95 % over repeats, from three on." +
               std::string(has_published ? " Hollow: published values. " : " ") + panel.place.kind +
               '.';
  return chart;
}

}  // namespace analysis
