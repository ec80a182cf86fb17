#include "analysis/report/report.hpp"

#include <cmath>

#include "analysis/capacity/rows.hpp"
#include "analysis/compare/config.hpp"
#include "analysis/text/list.hpp"

namespace analysis {
namespace {

using Draw = ChartSeries::Draw;

using CapacityPlaces = std::vector<const CapacityPlace*>;

std::string dram_of(const CapacityPlace& place) {
  const sweep::Value* dram = sweep::value_on(place.axes, "dram_gib");
  return dram == nullptr ? "no host memory" : value_text(*dram) + " GiB";
}

/// "cpu_offload, 64 GiB"
std::string row_of(const CapacityPlace& place) {
  const bool has_dram = sweep::value_on(place.axes, "dram_gib") != nullptr;
  return place.policy + (has_dram ? ", " + dram_of(place) : "");
}

/// The place without its policy and host memory, of which a chart shows all.
std::string chart_of(const CapacityPlace& place, bool with_gpu) {
  std::vector<std::string> texts;
  for (const auto& [axis, value] : place.axes)
    if (axis != "policy" && axis != "dram_gib" && (with_gpu || axis != "gpu"))
      texts.push_back((axis == "gpu" ? "" : axis + " = ") + sweep::bare_text(value));
  return sweep::joined(texts);
}

Chart start(const std::string& kind, const CapacityRules& rules, const std::string& of,
            const std::string& figure, const std::string& title) {
  const char* const study = rules.slos.empty() ? "interactivity" : "capacity";
  return {.id = "study",
          .title = title,
          .kind = kind,
          .gpu = of,
          .at = {{"study", study}, {"figure", figure}}};
}

std::vector<std::string> unique(const auto& items, auto text_of) {
  std::vector<std::string> texts;
  for (const auto& each : items) add_once(texts, text_of(each));
  return texts;
}

/// "84.2 (79.1 to 89.6), stopped by ttft_p90", or why there is no such number.
std::string outcome(const CapacityRules& rules, const Capacity& capacity) {
  const std::string verdict = capacity.verdict(rules);
  if (!verdict.empty()) return verdict;
  return estimate_text(capacity.load) +
         (capacity.binds == nullptr ? "" : ", stopped by " + capacity.binds->metric);
}

/// "Most: cpu_offload, 64 GiB, with 84.20 agents; the next load breaks tpot_p90: 0.0539 s at 92.60
/// (5 of 5). "
std::string most_of(const CapacityRules& rules, const std::vector<const Capacity*>& rows) {
  double most = 0;
  for (const Capacity* each : rows) most = std::fmax(most, each->load.value);
  std::vector<std::string> names;
  std::string outcome;
  for (const Capacity* each : rows) {
    if (!(most > 0 && each->load.value == most)) continue;
    names.push_back(row_of(*each->place));
    if (names.size() > 1) continue;
    const std::string verdict = each->verdict(rules);
    outcome = verdict.empty() ? four_digits(most) + ' ' + rules.unit() : verdict;
    if (each->binds != nullptr)
      outcome += "; the next load breaks " + each->binds->metric + ": " + next_step(*each);
  }
  return names.empty() ? "" : "Most: " + sweep::joined(names, "; ") + ", with " + outcome + ". ";
}

/// The capacities with one amount of host memory, at their rows; `is_least`: those of which the
/// largest load that was tried meets the limits.
ChartSeries capacity_series(const CapacityRules& rules, const std::vector<const Capacity*>& rows,
                            const std::string& dram, bool is_least) {
  ChartSeries series{.name = dram + (is_least ? ", at least" : ""),
                     .mark = is_least ? "right" : "",
                     .draw = Draw::dots};
  std::vector<std::string> policies, binds;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const Capacity& each = *rows[row];
    if (dram_of(*each.place) != dram || std::isnan(each.load.value)) continue;
    if (each.search.is_cut_off(rules.search) != is_least) continue;
    series.x.push_back(static_cast<double>(row));
    series.y.push_back(each.load.value);
    series.low.push_back(std::max(0.0, each.load.interval.low));
    series.high.push_back(each.load.interval.high);
    series.repeats = std::max(series.repeats, each.load.repeats);
    policies.push_back(each.place->policy);
    binds.push_back(each.binds == nullptr ? "" : each.binds->text());
  }
  series.more = {{"policy", std::move(policies)}, {"binds", std::move(binds)}};
  return series;
}

/// A row for each policy and host memory with its capacity, the interval and the limit that binds.
Chart capacity_chart(const CapacityRules& rules, const Slo& slo, const std::string& of,
                     const std::vector<const Capacity*>& rows, const std::string& kind) {
  const std::string name = rules.slos.size() > 1 ? slo.name : "";
  Chart chart = start(kind, rules, of, name.empty() ? "capacity" : "capacity-" + name,
                      "Capacity: " + rules.unit() + " per GPU" + (name.empty() ? "" : ", " + name));
  ChartPanel& panel = chart.panel();
  panel.flat = true;
  panel.x.name = "policy and host memory";
  panel.y = {.name = rules.unit() + " per GPU", .from = 0};
  for (const Capacity* each : rows) {
    panel.x.names.push_back(row_of(*each->place));
    panel.x.beside.push_back(outcome(rules, *each));
  }
  const auto drams = unique(rows, [](const Capacity* each) { return dram_of(*each->place); });
  for (std::size_t i = 0; i < drams.size(); ++i)
    for (const bool is_least : {false, true}) {
      ChartSeries series = capacity_series(rules, rows, drams[i], is_least);
      series.color = std::to_string(i);
      if (!series.x.empty()) panel.series.push_back(std::move(series));
    }
  chart.note = most_of(rules, rows) + "The largest load with " +
               sweep::joined(mapped(slo.limits, &Limit::text)) +
               "; in brackets and as bars: 95 % over the seeds. " + kind + '.';
  if (panel.series.empty()) chart.nothing = "No row is decided.";
  return chart;
}

/// The yield of a load: tokens by the second, the dollar or the joule of a GPU. Joules are
/// measured, or else the watts of a GPU in a second.
struct Yield {
  const char *figure, *title, *y;
  bool of_one;  // even of one GPU it is not the front on another scale
  // In a second; NaN: not known.
  double (*per)(const CapacityRules& rules, const std::string& gpu, const CapacityCell& cell);
};
using Rules = CapacityRules;
using Name = std::string;
constexpr Yield kYields[] = {
    {"front", "Throughput against interactivity", "output tokens/s of a GPU", true,
     [](const Rules&, const Name&, const CapacityCell&) { return 1.0; }},
    {"front-dollar", "Tokens of a dollar against interactivity", "output tokens a dollar", false,
     [](const Rules& rules, const Name& gpu, const CapacityCell&) {
       return known(rules.price_per_hour, gpu) / 3600;
     }},
    {"front-joule-measured", "Tokens of a joule, measured, against interactivity",
     "output tokens a measured joule", true,
     [](const Rules&, const Name&, const CapacityCell& cell) { return cell.measured_watts(); }},
    {"front-joule", "Tokens of a joule by watts against interactivity",
     "output tokens a joule by watts", false,
     [](const Rules& rules, const Name& gpu, const CapacityCell& cell) {
       return std::isnan(cell.measured_watts()) ? known(rules.watts, gpu) : sweep::kNotObserved;
     }}};

/// Whether it is known of any cell of the place.
bool knows(const Yield& yield, const CapacityRules& rules, const CapacityPlace& place) {
  return std::ranges::any_of(place.cells, [&](const auto& each) {
    return !std::isnan(yield.per(rules, place.gpu, each.second));
  });
}

struct FrontPoint {
  double x = 0, y = 0, load = 0;
  std::string row;  // its policy and host memory
};

using SeedPoints = std::map<int, FrontPoint>;
using ByLoad = std::map<std::size_t, SeedPoints>;

/// The loads of a place with their cells as points.
ByLoad loads_of(const CapacityRules& rules, const CapacityPlace& place, const Yield& yield) {
  ByLoad loads;
  for (const auto& [question, cell] : place.cells) {
    if (cell.metrics.empty()) continue;
    const double x = cell.metrics.at(kInteractivityP90);
    const double y = cell.metrics.at(kThroughput) / yield.per(rules, place.gpu, cell);
    if (std::isfinite(x) && std::isfinite(y))
      loads[question.load][question.seed] = {x, y, rules.search.loads[question.load],
                                             row_of(place)};
  }
  return loads;
}

/// The seeds over which points are comparable: those of every load that has three of them, or as
/// many as any. A search asks for more seeds of some loads than of others; those after the third
/// begin at other loads. Where so few are common, it is the first three, with which every row
/// begins.
std::set<int> common_seeds(const std::vector<ByLoad>& places) {
  std::size_t most = 0;
  std::set<int> any;
  for (const ByLoad& loads : places)
    for (const auto& [load, cells] : loads) {
      most = std::max(most, cells.size());
      for (const auto& [seed, point] : cells) any.insert(seed);
    }
  const std::size_t enough = std::min(most, kFewestRepeats);
  std::set<int> common = any;
  for (const ByLoad& loads : places)
    for (const auto& [load, cells] : loads)
      if (cells.size() >= enough)
        std::erase_if(common, [&](int seed) { return !cells.contains(seed); });
  if (common.size() >= enough) return common;
  return {any.begin(), std::next(any.begin(), static_cast<std::ptrdiff_t>(enough))};
}

/// The means over the seeds of each load that has all of them.
std::vector<FrontPoint> points_of(const ByLoad& loads, const std::set<int>& seeds) {
  std::vector<FrontPoint> points;
  const auto n = static_cast<double>(seeds.size());
  for (const auto& [load, cells] : loads) {
    const auto has = [&](int seed) { return cells.contains(seed); };
    if (seeds.empty() || !std::ranges::all_of(seeds, has)) continue;
    FrontPoint& mean = points.emplace_back(cells.begin()->second);
    mean.x = mean.y = 0;
    for (const int seed : seeds) {
      mean.x += cells.at(seed).x / n;
      mean.y += cells.at(seed).y / n;
    }
  }
  return points;
}

ChartSeries series_through(const std::vector<FrontPoint>& points, const CapacityRules& rules) {
  ChartSeries series;
  std::vector<double> loads;
  std::vector<std::string> rows;
  for (const FrontPoint& point : points) {
    series.add(point.x, point.y);
    loads.push_back(point.load);
    rows.push_back(point.row);
  }
  series.points = true;
  series.more = {{rules.unit(), std::move(loads)}, {"policy and host memory", std::move(rows)}};
  return series;
}

/// The Pareto front: points that no other point dominates, by x.
std::vector<FrontPoint> best_of(const std::vector<FrontPoint>& all) {
  std::vector<FrontPoint> best;
  for (const FrontPoint& point : all)
    if (std::ranges::none_of(all, [&](const FrontPoint& other) {
          return other.x >= point.x && other.y >= point.y &&
                 (other.x > point.x || other.y > point.y);
        }))
      best.push_back(point);
  std::ranges::sort(best, {}, &FrontPoint::x);
  return best;
}

/// As circles with their loads.
ChartSeries circles_through(const std::vector<FrontPoint>& points, const CapacityRules& rules) {
  ChartSeries front = series_through(points, rules);
  front.name = "on the front";
  front.draw = Draw::dots;
  front.color = "text";
  front.hollow = true;
  front.points = false;
  front.more.push_back({"label", front.more.front().values});
  return front;
}

/// A line over the loads of a policy and host memory, which have its dash and its color.
ChartSeries line_of(const CapacityPlace& place, const std::vector<FrontPoint>& points,
                    const std::vector<std::string>& drams, const CapacityRules& rules) {
  constexpr std::array kMarks = {"", "square", "up", "down"};
  ChartSeries series = series_through(points, rules);
  series.name = row_of(place);
  series.policy = place.policy;
  const auto dram =
      static_cast<std::size_t>(std::ranges::find(drams, dram_of(place)) - drams.begin());
  series.color = std::to_string(dram);
  series.mark = kMarks[dram % kMarks.size()];
  return series;
}

/// A load's yield against its interactivity: a line for each policy, or of several GPUs along
/// the front of each; circles are on the front of all.
Chart front_chart(const CapacityRules& rules, const Yield& yield, const std::string& of,
                  const CapacityPlaces& places, const std::string& kind) {
  Chart chart = start(kind, rules, of, yield.figure, yield.title);
  ChartPanel& panel = chart.panel();
  panel.x = {.name = "P90 interactivity [tokens/s; 9 of 10 turns are at least as fast]", .log = 2};
  panel.y.name = yield.y;
  const auto drams = unique(places, [](const auto* each) { return dram_of(*each); });
  const auto gpus = unique(places, [](const auto* each) { return each->gpu; });
  const auto loads =
      mapped(places, [&](const auto* each) { return loads_of(rules, *each, yield); });
  const std::set<int> seeds = common_seeds(loads);
  std::vector<FrontPoint> all;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    std::vector<FrontPoint> own;
    for (std::size_t place = 0; place < places.size(); ++place) {
      if (places[place]->gpu != gpus[i]) continue;
      const std::vector<FrontPoint> points = points_of(loads[place], seeds);
      own.insert(own.end(), points.begin(), points.end());
      if (gpus.size() == 1 && !points.empty())
        panel.series.push_back(line_of(*places[place], points, drams, rules));
    }
    all.insert(all.end(), own.begin(), own.end());
    if (gpus.size() == 1 || own.empty()) continue;
    ChartSeries& front = panel.series.emplace_back(series_through(best_of(own), rules));
    front.name = gpus[i];
    front.color = std::to_string(i);
  }
  if (all.empty()) chart.nothing = "No cell has a result.";
  if (!all.empty()) panel.series.push_back(circles_through(best_of(all), rules));
  chart.note =
      std::string(gpus.size() > 1 ? "Each line goes over the best loads of a GPU's policies"
                                  : "Each line goes over the loads that were tried") +
      ", in means over the " + std::to_string(seeds.size()) +
      (seeds.size() == 1 ? " seed" : " seeds") + " that all loads have. Circles with their load (" +
      rules.unit() + "): no other has both more. " + kind + '.';
  return chart;
}

/// The capacities of each GPU and its front, then the fronts of all together by what they cost, as
/// far as that is known.
std::vector<Chart> charts_of(const CapacityRules& rules, const std::vector<CapacityPlace>& places,
                             const std::vector<Capacity>& capacities, const std::string& kind) {
  std::vector<Chart> charts;
  for (const Yield& yield : kYields) {
    const bool of_gpu = &yield == kYields;
    const auto group_of = [&](const CapacityPlace& place) { return chart_of(place, of_gpu); };
    for (const std::string& of : unique(places, group_of)) {
      for (const Slo& slo : rules.slos) {
        std::vector<const Capacity*> rows;
        for (const Capacity& each : capacities)
          if (each.slo == &slo && group_of(*each.place) == of) rows.push_back(&each);
        if (of_gpu) charts.push_back(capacity_chart(rules, slo, of, rows, kind));
      }
      CapacityPlaces own;
      for (const CapacityPlace& each : places)
        if (group_of(each) == of && knows(yield, rules, each)) own.push_back(&each);
      const std::size_t gpus = unique(own, [](const auto* each) { return each->gpu; }).size();
      if (of_gpu || gpus > (yield.of_one ? 0 : 1))
        charts.push_back(front_chart(rules, yield, of, own, kind));
    }
  }
  return charts;
}

}  // namespace

CapacityReport capacity_report(sweep::ArchiveReader& archive) {
  CapacityReport report;
  std::optional<CapacityRules> rules;
  try {
    rules = rules_of_archive(sweep::parse_spec(archive.spec_text(), archive.sweep_name()));
  } catch (const sweep::SpecError&) {
    return report;  // of a newer program
  }
  if (!rules) return report;
  const std::vector<sweep::CellRecord>& records = archive.cells();
  if (std::ranges::find(records, kConfirmsNone, &sweep::CellRecord::reason) != records.end())
    rules->slos.clear();
  const auto ok = std::ranges::find_if(records, [](const sweep::CellRecord& each) {
    return !each.kept && each.has_result(sweep::RecordLevel::jobs);
  });
  if (ok == records.end()) return report;
  report.kind = figures_kind(ConfiguredCell(*ok));
  KnownMetrics known;
  const std::vector<CapacityPlace> places = capacity_places(*rules, records, &archive, known);
  const std::vector<Capacity> capacities = capacities_of(*rules, places);
  report.charts = charts_of(*rules, places, capacities, report.kind);
  if (rules->slos.empty()) return report;
  report.of_live = !rules->workload_seeds.empty();
  report.grid = capacity_grid(*rules, capacities);
  for (const Capacity& each : capacities)
    if (const std::string note = each.not_monotone(*rules); !note.empty())
      report.notes.push_back(each.place->name + ": " + note);
  return report;
}

}  // namespace analysis
