#include <algorithm>
#include <cmath>

#include "analysis/compare/decision.hpp"
#include "analysis/compare/groups.hpp"
#include "analysis/report/panels.hpp"

namespace analysis {
namespace {

std::string unit_of(const ReportGroup& group, std::string_view metric) {
  for (const sweep::Figure& figure : group.repeats.front()->record->figures)
    if (figure.name == metric) return figure.unit;
  return "";
}

using Groups = std::vector<const ReportGroup*>;

/// The policies of a panel at one rate.
Groups at_rate(const ReportPanel& panel, const std::string& rate) {
  Groups row;
  for (const ReportGroup& group : panel.groups)
    if (group.jps == rate) row.push_back(&group);
  return row;
}

std::vector<Contender> contenders_of(const Groups& row, std::string_view metric) {
  std::vector<Contender> contenders;
  for (const ReportGroup* group : row)
    contenders.push_back({group->variant, group->dram, by_seed(group->repeats, metric)});
  return contenders;
}

void rate_row(std::span<ReportGroup* const> groups, std::string_view metric) {
  const std::vector<Contender> row = contenders_of({groups.begin(), groups.end()}, metric);
  const std::vector<Decision> decisions = decide(row, direction_of(metric));
  const auto fcfs = std::ranges::find(row, "fcfs", &Contender::name);
  for (std::size_t i = 0; i < row.size(); ++i) {
    Repeated& figure = groups[i]->figures[std::string(metric)];
    figure.unit = unit_of(*groups[i], metric);
    figure.mean = mean_of(row[i].values);
    if (fcfs != row.end()) figure.ratio = ratio_of(row[i].values, fcfs->values);
    figure.standing = standing_text(decisions, i);
  }
}

void add_published(ReportPanel& panel, ReportGroup& group, std::span<const Published> published) {
  for (auto& [metric, figure] : group.figures) {
    for (const Published& each : published) {
      const double value = each.value(*group.repeats.front(), metric);
      if (std::isnan(value)) continue;
      figure.published = value;
      if (std::ranges::find(panel.sources, each.source) == panel.sources.end())
        panel.sources.push_back(each.source);
    }
  }
}

void remark(ReportPanel& panel, const ReportGroup& first, const ReportGroup& other) {
  const auto found =
      first_incomparable(*first.repeats.front(), *other.repeats.front(), {"policy", "dram_gib"});
  if (!found) return;
  const std::string text = "Columns differ in more than the policy: " + found->key + " is " +
                           shown(found->a) + " for " + first.variant + " and " + shown(found->b) +
                           " for " + other.variant + '.';
  if (std::ranges::find(panel.remarks, text) == panel.remarks.end()) panel.remarks.push_back(text);
}

}  // namespace

void rate_panel(ReportPanel& panel, std::span<const Published> published) {
  for (const std::string& rate : panel.rates) {
    std::vector<ReportGroup*> row;
    for (ReportGroup& group : panel.groups)
      if (group.jps == rate) row.push_back(&group);
    for (const std::string_view metric : kReportMetrics) rate_row(row, metric);
    for (ReportGroup* group : row) {
      remark(panel, *row.front(), *group);
      add_published(panel, *group, published);
    }
  }
}

std::vector<Regime> regimes_of(std::span<const ReportPanel> panels) {
  std::vector<Regime> regimes;
  for (const ReportPanel& panel : panels) {
    for (const std::string& rate : panel.rates) {
      const auto contenders = contenders_of(at_rate(panel, rate), kAnswerFigure);
      std::ranges::move(regimes_of({panel.kind, panel.gpu, panel.settings}, rate, contenders,
                                   direction_of(kAnswerFigure)),
                        std::back_inserter(regimes));
    }
  }
  return regimes;
}

std::vector<PolicyCells> policy_cells(std::span<const ReportPanel> panels) {
  std::vector<PolicyCells> policies;
  for (const ReportPanel& panel : panels)
    for (const ReportGroup& group : panel.groups)
      policies.push_back(
          {{panel.kind, panel.gpu, panel.settings}, group.jps, group.variant, group.repeats});
  return policies;
}

}  // namespace analysis
