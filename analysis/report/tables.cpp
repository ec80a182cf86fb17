#include <algorithm>
#include <cmath>
#include <iterator>

#include "analysis/report/plain.hpp"
#include "analysis/text/text_table.hpp"

namespace analysis {
namespace {

using Texts = std::vector<std::string>;

std::string interval_text(const Interval& interval) {
  if (std::isnan(interval.low)) return "-";
  return four_digits(interval.low) + " .. " + four_digits(interval.high);
}

std::string percent_text(double fraction) {
  return std::isnan(fraction) ? "-" : four_digits(std::round(fraction * 1000) / 10) + " %";
}

std::string text_of(const Place& place) {
  return place.gpu + (place.settings.empty() ? "" : ", " + place.settings);
}

/// "continuum = fcfs" if the two tie, "continuum ? pin" if the repeats do not tell them apart.
std::string winners(const Regime& regime) {
  std::string names = regime.winner;
  for (const std::string& each : regime.tied) names += " = " + each;
  for (const Regime::Other& each : regime.undecided) names += " ? " + each.name;
  return names;
}

std::string tail_text(const Regime& regime) {
  const std::string worse = worse_text(regime.tails);
  return p99_text(regime.tails) + (worse.empty() ? "" : ", but " + worse);
}

std::string next_text(const Regime& regime) {
  std::string names;
  for (const std::string& each : names_of(regime.next))
    names += (names.empty() ? "" : " = ") + each;
  return names.empty() ? "-" : names;
}

ReportTable summary_of(const ReportPanel& panel) {
  const std::string metric(kReportMetrics.front());
  ReportTable table{text_of(panel.place) + ": " + metric, panel.place.kind, {}, panel.remarks};
  for (const std::string& source : panel.sources) table.notes.push_back("published: " + source);
  table.grid.columns = {{"jps", ""},         {"policy", "", false}, {"mean", "s"},
                        {"95 %", "", false}, {"/ fcfs", ""},        {"95 %", "", false},
                        {"best", "", false}, {"published", "s"},    {"repeats", ""}};
  for (const TailFigure& tail : kTailFigures)
    table.grid.columns.push_back({"p99 " + std::string(tail.name), "s"});
  const bool bounds = std::ranges::any_of(panel.groups, [&](const ReportGroup& group) {
    return !std::isnan(group.figures.find(metric)->second.bound);
  });
  if (bounds)
    for (const std::string& name :
         {bound_name(panel.place), std::string("/ bound"), std::string("/ best")})
      table.grid.columns.push_back({name, name.ends_with("bound") && name[0] != '/' ? "s" : ""});
  for (const std::string& rate : panel.rates) {
    for (const ReportGroup& group : panel.groups) {
      if (group.jps != rate) continue;
      const Rated& figure = group.figures.find(metric)->second;
      table.grid.rows.push_back(
          {rate, name_beside_bounds(group.variant, figure), four_digits(figure.mean.value),
           interval_text(figure.mean.interval), four_digits(figure.over_fcfs.value),
           interval_text(figure.over_fcfs.interval), figure.standing, four_digits(figure.published),
           std::to_string(group.repeats.size())});
      for (const Tail::Value& value : group.tail.values)
        table.grid.rows.back().push_back(four_digits(value.s));
      for (const double value : {figure.bound, figure.certified_regret(), figure.regret_to_best()})
        if (bounds) table.grid.rows.back().push_back(four_digits(value));
    }
  }
  return table;
}

/// Modelled and measured numbers, and those of different cost models, never share a table.
template <class Items, class KindOf>
Texts kinds_of(const Items& items, KindOf kind_of) {
  Texts kinds;
  for (const auto& item : items)
    if (std::ranges::find(kinds, kind_of(item)) == kinds.end()) kinds.push_back(kind_of(item));
  return kinds;
}

ReportTable regime_table(const Report& report, const std::string& kind) {
  ReportTable table{"What is best where",
                    kind,
                    {},
                    {"margin: by how much the next is slower; =: less than 1 % apart; ?: the "
                     "repeats do not tell it from the winner (Holm's rule, 5 %)"}};
  for (const char* name : {"gpu", "host memory [GiB]", "jps", "winner", "next"})
    table.grid.columns.push_back({name, "", false});
  table.grid.columns.push_back({"margin", ""});
  table.grid.columns.push_back({"95 %", "", false});
  table.grid.columns.push_back({"tail", "", false});
  table.grid.columns.push_back({"repeats", ""});
  for (const Regime& each : report.regimes) {
    if (each.place.kind != kind) continue;
    const Ratio ratio = each.next.empty() ? Ratio() : each.next.front().over_winner;
    table.grid.rows.push_back({text_of(each.place), each.dram, each.jps, winners(each),
                               next_text(each), percent_text(ratio.value - 1),
                               interval_text({ratio.interval.low - 1, ratio.interval.high - 1}),
                               tail_text(each), std::to_string(each.repeats)});
  }
  return table;
}

void add_fit(Grid& grid, const ReportPanel& panel, const std::string& x, const std::string& policy,
             const LineFit& fit, const Report& report) {
  const auto published = [&](const std::string& what) {
    return policy.empty() ? four_digits(published_fit(report.claims, what + ':' + x, panel)) : "";
  };
  grid.rows.push_back({text_of(panel.place), x, policy.empty() ? "all" : policy,
                       std::to_string(fit.n), four_digits(fit.slope * 1e6), published("slope_us"),
                       four_digits(fit.intercept * 1e3), published("intercept_ms"),
                       four_digits(fit.r_squared), published("r2")});
}

ReportTable fit_table(const Report& report, const std::string& kind) {
  ReportTable table{"Step duration over tokens, least squares", kind, {}, {}};
  table.grid.columns = {{"gpu", "", false},  {"x", "", false},    {"policy", "", false},
                        {"steps", ""},       {"slope", "us/tok"}, {"published", ""},
                        {"intercept", "ms"}, {"published", ""},   {"R^2", ""},
                        {"published", ""}};
  for (const ReportPanel& panel : report.panels) {
    if (panel.place.kind != kind) continue;
    Texts variants = panel.variants;
    variants.insert(variants.begin(), "");
    for (const std::string& variant : variants) {
      LineSums total, largest;
      for (const ReportGroup& group : panel.groups) {
        if (!variant.empty() && group.variant != variant) continue;
        total.add(group.steps.total.line);
        largest.add(group.steps.largest.line);
      }
      add_fit(table.grid, panel, "n_tok", variant, total.fit(), report);
      add_fit(table.grid, panel, "max_tok", variant, largest.fit(), report);
    }
  }
  return table;
}

ReportTable claim_table(const Report& report, const std::string& kind) {
  ReportTable table{"Claims", kind.empty() ? "without results" : kind, {}, report.claims.sources};
  for (const char* name : {"set", "claim", "at", "verdict", "direction"})
    table.grid.columns.push_back({name, "", false});
  for (const char* name : {"ours", "published", "off", "repeats"})
    table.grid.columns.push_back({name, ""});
  table.grid.columns.push_back({"says", "", false});
  table.grid.columns.push_back({"because", "", false});
  std::vector<ClaimRow> rows;
  std::ranges::copy_if(report.claims.rows, std::back_inserter(rows),
                       [&](const ClaimRow& row) { return row.kind == kind; });
  sort_by_distance(rows);
  for (const ClaimRow& row : rows) {
    table.grid.rows.push_back({row.claim->set, row.claim->id, place_of(row),
                               std::string(verdict_name(row.verdict)),
                               std::string(row.direction ? verdict_name(*row.direction) : ""),
                               four_digits(row.ours.value), four_digits(row.point->published),
                               percent_text(distance_of(row)), std::to_string(row.ours.repeats),
                               row.claim->says, row.reason});
  }
  return table;
}

ReportTable missing_table(const Report& report) {
  ReportTable table{"Cells without results", "", {}, {}};
  table.grid.columns = {{"archive", "", false},
                        {"cell", ""},
                        {"label", "", false},
                        {"status", "", false},
                        {"reason", "", false}};
  for (const MissingCell& cell : report.missing) {
    table.grid.rows.push_back(
        {cell.archive, std::to_string(cell.index), cell.label, cell.status, cell.reason});
  }
  if (report.missing.empty()) table.notes.push_back("None: every planned cell has a result.");
  return table;
}

ReportTable external_table(const Report& report) {
  ReportTable table{"Results from elsewhere", "EXTERNAL: not run by kvsweep", {}, {}};
  for (const char* name : {"result", "beside", "source", "file", "figure"})
    table.grid.columns.push_back({name, "", false});
  table.grid.columns.push_back({"value", ""});
  for (const ExternalCell& cell : report.externals) {
    for (const sweep::Figure& figure : cell.record.figures)
      table.grid.rows.push_back({cell.name, cell.experiment, cell.source, cell.file, figure.name,
                                 four_digits(figure.value)});
  }
  return table;
}

}  // namespace

std::vector<ReportTable> report_tables(const Report& report) {
  std::vector<ReportTable> tables;
  for (const ReportPanel& panel : report.panels) tables.push_back(summary_of(panel));
  const Texts kinds =
      kinds_of(report.panels, [](const ReportPanel& panel) { return panel.place.kind; });
  for (const std::string& kind : kinds) tables.push_back(regime_table(report, kind));
  for (const std::string& kind : kinds) tables.push_back(fit_table(report, kind));
  const Texts judged = kinds_of(report.claims.rows, [](const ClaimRow& row) { return row.kind; });
  for (const std::string& kind : judged) tables.push_back(claim_table(report, kind));
  if (!report.externals.empty()) tables.push_back(external_table(report));
  tables.push_back(missing_table(report));
  return tables;
}

}  // namespace analysis
