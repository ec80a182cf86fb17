#include <algorithm>
#include <cmath>

#include "analysis/report/json.hpp"
#include "analysis/report/panel_charts.hpp"

namespace analysis {
namespace {

void add_figures(JsonLine& json, const ReportGroup& group) {
  json.key("figures").open('{');
  for (const std::string_view metric : kReportMetrics) {
    const Rated& figure = group.figures.find(metric)->second;
    if (std::isnan(figure.mean.value)) continue;
    json.key(metric).open('{').key("unit").text(figure.unit);
    add_exact(json.key("mean"), figure.mean.value);
    json.key("interval");
    add_interval(json, figure.mean.interval);
    add_exact(json.key("ratio"), figure.over_fcfs.value);
    json.key("ratio_interval");
    add_interval(json, figure.over_fcfs.interval);
    add_exact(json.key("published"), figure.published);
    if (!std::isnan(figure.bound)) add_exact(json.key("bound"), figure.bound);
    json.key("standing").text(figure.standing).close('}');
  }
  json.close('}');
}

void add_cells(JsonLine& json, const ReportGroup& group) {
  json.key("cells").open('[');
  for (const ConfiguredCell* cell : group.repeats) {
    const sweep::CellRecord& record = *cell->record;
    json.open('{').key("index").integer(record.index).key("key").text(record.key.substr(0, 12));
    json.key("label").text(record.label).key("seed").integer(record.seed).close('}');
  }
  json.close(']');
}

/// Of a number of each repeat: the mean, and the interval.
template <class Of>
void add_mean(JsonLine& json, const ReportGroup& group, Of of) {
  BySeed values;
  for (std::size_t i = 0; i < group.service.size(); ++i) {
    const double value = of(group.service[i]);
    if (!std::isnan(value)) values[group.repeats[i]->record->seed] = value;
  }
  const Estimate mean = mean_of(values);
  add_exact(json.open('['), mean.value);
  add_interval(json, mean.interval);
  json.close(']');
}

void add_service(JsonLine& json, const ReportGroup& group) {
  json.key("service").open('{');
  for (std::size_t latency = 0; latency < kLatencyNames.size(); ++latency) {
    json.key(kLatencyNames[latency]).open('[');
    for (std::size_t i = 0; i < kLatencyPercents.size(); ++i)
      add_mean(json, group, [&](const Service& each) { return each.percentiles_s[latency][i]; });
    json.close(']');
  }
  json.key("attained");
  add_mean(json, group, [](const Service& each) { return each.attained; });
  json.key("goodput");
  add_mean(json, group, [](const Service& each) { return each.goodput_per_s; });
  json.close('}');
}

void add_group(JsonLine& json, const ReportGroup& group) {
  json.open('{').key("jps").text(group.jps).key("variant").text(group.variant);
  json.key("dram").text(group.dram);
  json.key("repeats").integer(static_cast<std::int64_t>(group.repeats.size()));
  json.key("p99").text(p99_text({&group.tail, 1}));
  json.key("worse").text(worse_text({&group.tail, 1})).key("from").text(group.from);
  add_cells(json, group);
  add_figures(json, group);
  add_service(json, group);
  json.close('}');
}

}  // namespace

void add_panel(JsonLine& json, const ReportPanel& panel, const std::string& archive) {
  json.open('{').key("kind").text(panel.place.kind).key("gpu").text(panel.place.gpu);
  json.key("name").text(panel.name);
  json.key("settings").text(panel.place.settings).key("devices").text(panel.devices);
  add_texts(json.key("rates"), panel.rates);
  add_texts(json.key("variants"), panel.variants);
  json.key("groups").open('[');
  for (const ReportGroup& group : panel.groups) add_group(json, group);
  json.close(']');
  json.key("acts").open('[');  // of each rate
  for (const std::string& rate : panel.rates) add_table(json, acts_table(panel, rate));
  json.close(']');
  json.key("charts").open('[');
  for (const Chart& chart : panel_charts(panel, archive)) add_chart(json, chart);
  json.close(']');
  add_texts(json.key("sources"), panel.sources);
  add_texts(json.key("remarks"), panel.remarks);
  json.close('}');
}

}  // namespace analysis
