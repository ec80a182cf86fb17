#include "analysis/report/capacity_charts.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/capacity/rows.hpp"
#include "analysis/compare/config.hpp"

namespace analysis {
namespace {

using Draw = ChartSeries::Draw;

/// "continuum", or "cpu_offload, 64 GiB"
std::string name_of(const CapacityPlace& place) {
  const sweep::Value* dram = sweep::value_on(place.axes, "dram_gib");
  return place.policy + (dram == nullptr ? "" : ", " + value_text(*dram) + " GiB");
}

/// The places of a chart: all but their policy and host memory.
std::string chart_of(const CapacityPlace& place) {
  std::string text;
  for (const auto& [axis, value] : place.axes)
    if (axis != "policy" && axis != "dram_gib")
      text += (text.empty() ? "" : ", ") + (axis == "gpu" ? "" : axis + " = ") +
              sweep::bare_text(value);
  return text;
}

Chart start(const std::string& kind, const CapacityPlace& place, const char* figure,
            const std::string& title) {
  Chart chart;
  chart.id = "study";
  chart.title = title;
  chart.kind = kind;
  chart.gpu = chart_of(place);
  chart.at = {{"study", "capacity"}, {"figure", figure}};
  return chart;
}

std::vector<std::string> unique(const std::vector<const Capacity*>& rows, auto text_of) {
  std::vector<std::string> texts;
  for (const Capacity* each : rows)
    if (const std::string text = text_of(*each->place);
        std::ranges::find(texts, text) == texts.end())
      texts.push_back(text);
  return texts;
}

/// The capacity of each policy with its interval, a series for each amount of host memory.
Chart capacity_chart(const CapacityRules& rules, const std::vector<const Capacity*>& rows,
                     const std::string& kind) {
  const Slo& slo = *rows.front()->slo;
  const bool several = rules.slos.size() > 1;
  Chart chart = start(kind, *rows.front()->place, "capacity",
                      "Capacity: " + rules.unit() + " per GPU" + (several ? ", " + slo.name : ""));
  if (several) chart.at["figure"] += '-' + slo.name;
  ChartPanel& panel = chart.panel();
  const auto policy_of = [](const CapacityPlace& place) { return place.policy; };
  const auto dram_of = [](const CapacityPlace& place) {
    const sweep::Value* dram = sweep::value_on(place.axes, "dram_gib");
    return dram == nullptr ? std::string("no host memory") : value_text(*dram) + " GiB";
  };
  panel.x = {.name = "policy", .names = unique(rows, policy_of), .of_policies = true};
  panel.y = {.name = rules.unit() + " per GPU", .names = {}, .from = 0};
  int color = 0;
  for (const std::string& dram : unique(rows, dram_of)) {
    ChartSeries series;
    series.name = dram;
    series.color = std::to_string(color++);
    series.draw = Draw::dots;
    for (const Capacity* each : rows) {
      if (dram_of(*each->place) != dram || !each->problem.empty() || !each->search.is_over())
        continue;
      const auto at = std::ranges::find(panel.x.names, each->place->policy);
      series.x.push_back(static_cast<double>(at - panel.x.names.begin()));
      series.y.push_back(each->load.value);
      series.low.push_back(std::max(0.0, each->load.interval.low));
      series.high.push_back(each->load.interval.high);
      series.repeats = std::max(series.repeats, each->load.repeats);
    }
    if (!series.x.empty()) panel.series.push_back(std::move(series));
  }
  std::vector<std::string> limits;
  for (const Limit& each : slo.limits) limits.push_back(each.text());
  chart.note = "The largest load with " + sweep::joined(limits) + "; bars: 95 % over the seeds. " +
               kind + '.';
  if (panel.series.empty()) chart.nothing = "No row is decided.";
  return chart;
}

struct FrontPoint {
  double x, y, load;
};

/// The means over the seeds of each load that has three or more.
std::vector<FrontPoint> points_of(const CapacityRules& rules, const CapacityPlace& place) {
  struct Sum {
    double x = 0, y = 0;
    int n = 0;
  };
  std::map<std::size_t, Sum> sums;
  for (const auto& [question, cell] : place.cells) {
    if (cell.metrics.empty()) continue;
    const double x = cell.metrics.at(kInteractivityP90), y = cell.metrics.at(kThroughput);
    if (!std::isfinite(x) || !std::isfinite(y)) continue;
    Sum& sum = sums[question.load];
    sum = {sum.x + x, sum.y + y, sum.n + 1};
  }
  std::vector<FrontPoint> points;
  for (const auto& [load, sum] : sums)
    if (sum.n >= static_cast<int>(kFewestRepeats))
      points.push_back({sum.x / sum.n, sum.y / sum.n, rules.search.loads[load]});
  return points;
}

/// Throughput against what a user sees: a line over the loads of each policy; filled points are on
/// the front.
Chart interactivity_chart(const CapacityRules& rules, const std::vector<const Capacity*>& rows,
                          const std::string& kind) {
  Chart chart = start(kind, *rows.front()->place, "front", "Throughput against interactivity");
  ChartPanel& panel = chart.panel();
  panel.x.name = "P90 interactivity [tokens/s that a user sees]";
  panel.y.name = "output tokens/s of a GPU";
  std::vector<FrontPoint> all;
  for (const Capacity* each : rows)
    for (const FrontPoint& point : points_of(rules, *each->place)) all.push_back(point);
  const auto is_front = [&](const FrontPoint& point) {
    return std::ranges::none_of(all, [&](const FrontPoint& other) {
      return other.x >= point.x && other.y >= point.y && (other.x > point.x || other.y > point.y);
    });
  };
  ChartSeries front;
  front.name = "on the front";
  front.draw = Draw::dots;
  front.color = "4";
  front.hollow = true;
  std::vector<std::string> labels;
  for (const Capacity* each : rows) {
    ChartSeries series;
    series.name = name_of(*each->place);
    series.policy = each->place->policy;
    series.points = true;
    std::vector<double> loads;
    for (const FrontPoint& point : points_of(rules, *each->place)) {
      series.x.push_back(point.x);
      series.y.push_back(point.y);
      loads.push_back(point.load);
      if (!is_front(point)) continue;
      front.x.push_back(point.x);
      front.y.push_back(point.y);
      labels.push_back(exact_number(point.load));
    }
    series.more.push_back({rules.unit(), std::move(loads)});
    if (!series.x.empty()) panel.series.push_back(std::move(series));
  }
  front.more.push_back({"label", std::move(labels)});
  if (!front.x.empty()) panel.series.push_back(std::move(front));
  if (panel.series.empty()) chart.nothing = "No cell has a result.";
  chart.note =
      "Each line goes over the loads that were tried on three seeds. Circles with their load (" +
      rules.unit() + "): no other has both more. " + kind + '.';
  return chart;
}

}  // namespace

CapacityReport capacity_report(sweep::ArchiveReader& archive) {
  CapacityReport report;
  std::optional<CapacityRules> rules;
  try {
    rules = capacity_rules(sweep::parse_spec(archive.spec_text(), archive.sweep_name()));
  } catch (const sweep::SpecError&) {
    return report;  // of a newer program
  }
  if (!rules) return report;
  std::vector<const sweep::CellRecord*> records;
  for (const sweep::CellRecord& each : archive.cells())
    if (!each.kept) records.push_back(&each);
  KnownMetrics known;
  const std::vector<CapacityPlace> places = capacity_places(*rules, records, &archive, known);
  const std::vector<Capacity> capacities = capacities_of(*rules, places);
  const auto ok = std::ranges::find(records, sweep::CellStatus::ok, &sweep::CellRecord::status);
  if (ok == records.end()) return report;
  const std::string kind = figures_kind(ConfiguredCell(**ok));
  std::vector<std::pair<std::string, std::vector<const Capacity*>>> groups;
  for (const Capacity& each : capacities) {
    const std::string name = chart_of(*each.place) + '\n' + each.slo->name;
    auto group = std::ranges::find(groups, name, [](const auto& of) { return of.first; });
    if (group == groups.end()) group = groups.insert(groups.end(), {name, {}});
    group->second.push_back(&each);
  }
  for (const auto& [name, rows] : groups)
    report.charts.push_back(capacity_chart(*rules, rows, kind));
  for (const auto& [name, rows] : groups)
    if (rows.front()->slo == &rules->slos.front())
      report.charts.push_back(interactivity_chart(*rules, rows, kind));
  report.kind = kind;
  report.of_live = !rules->workload_seeds.empty();
  report.grid = capacity_grid(*rules, capacities);
  for (const Capacity& each : capacities)
    if (const std::string note = each.not_monotone(*rules); !note.empty())
      report.notes.push_back(each.place->name + ": " + note);
  return report;
}

}  // namespace analysis
