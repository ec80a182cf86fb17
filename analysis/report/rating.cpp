#include <algorithm>
#include <cmath>
#include <ranges>

#include "analysis/compare/compare.hpp"
#include "analysis/compare/groups.hpp"
#include "analysis/report/panels.hpp"

namespace analysis {
namespace {

using Values = std::vector<double>;

bool higher_is_better(std::string_view metric) {
  return metric.ends_with("_rate") || metric.ends_with("_per_s");
}

/// Values by seed, so that repeats of two policies form pairs: their jobs arrive at the same times.
std::map<std::int64_t, double> by_seed(const ReportGroup& group, std::string_view metric) {
  std::map<std::int64_t, double> values;
  for (const ConfiguredCell* cell : group.repeats) {
    const double value = cell->figure(std::string(metric));
    if (!std::isnan(value)) values[cell->record->seed] = value;
  }
  return values;
}

struct Pairs {
  Values base, value;
  bool paired = true;
};

Pairs pairs_of(const ReportGroup& base, const ReportGroup& other, std::string_view metric) {
  const auto a = by_seed(base, metric), b = by_seed(other, metric);
  Pairs pairs;
  for (const auto& [seed, value] : a) {
    if (!b.contains(seed)) continue;
    pairs.base.push_back(value);
    pairs.value.push_back(b.at(seed));
  }
  if (!pairs.base.empty()) return pairs;
  pairs.paired = false;
  for (const auto& [seed, value] : a) pairs.base.push_back(value);
  for (const auto& [seed, value] : b) pairs.value.push_back(value);
  return pairs;
}

std::string unit_of(const ReportGroup& group, std::string_view metric) {
  for (const sweep::Figure& figure : group.repeats.front()->record->figures)
    if (figure.name == metric) return figure.unit;
  return "";
}

Repeated over_repeats(const ReportGroup& group, std::string_view metric) {
  Values values;
  for (const auto& [seed, value] : by_seed(group, metric)) values.push_back(value);
  Repeated figure;
  figure.unit = unit_of(group, metric);
  figure.mean = mean(values);
  if (values.size() > 1) figure.interval = bootstrap_mean_interval(values);
  return figure;
}

void compare_with(const ReportGroup& base, ReportGroup& group, std::string_view metric) {
  const Pairs pairs = pairs_of(base, group, metric);
  const double divisor = mean(pairs.base);
  if (pairs.base.empty() || divisor == 0) return;
  Repeated& figure = group.figures.find(metric)->second;
  figure.ratio = mean(pairs.value) / divisor;
  figure.ratio_interval = bootstrap_ratio_interval(pairs.base, pairs.value, pairs.paired);
}

/// Two policies tie if they differ by less than 1 %, or if the interval over repeats with equal
/// seeds does not separate them.
bool is_tie(const ReportGroup& best, const ReportGroup& other, std::string_view metric) {
  constexpr double kNoise = 0.01;
  const Pairs pairs = pairs_of(best, other, metric);
  if (pairs.base.empty() || pairs.value.empty()) return false;
  const double divisor = mean(pairs.base), value = mean(pairs.value);
  if (divisor == 0) return value == 0;
  if (std::abs(value / divisor - 1) < kNoise) return true;
  const Interval ratio = bootstrap_ratio_interval(pairs.base, pairs.value, pairs.paired);
  return ratio.low <= 1 && ratio.high >= 1;
}

using Groups = std::vector<ReportGroup*>;

/// Marks the group with the best mean, and those that tie with it.
void find_best(const Groups& row, std::string_view metric) {
  const double sign = higher_is_better(metric) ? -1 : 1;
  ReportGroup* best = nullptr;
  const auto rank = [&](const ReportGroup& group) {
    return sign * group.figures.find(metric)->second.mean;
  };
  for (ReportGroup* group : row) {
    if (std::isnan(rank(*group))) continue;
    if (best == nullptr || rank(*group) < rank(*best)) best = group;
  }
  if (best == nullptr) return;
  Repeated& winner = best->figures.find(metric)->second;
  winner.best = true;
  for (ReportGroup* group : row) {
    if (group == best || !is_tie(*best, *group, metric)) continue;
    group->figures.find(metric)->second.tied = winner.tied = true;
  }
}

void rate_row(const Groups& row, std::string_view metric) {
  find_best(row, metric);
  const auto fcfs = std::ranges::find(row, "fcfs", &ReportGroup::variant);
  if (fcfs == row.end()) return;
  for (ReportGroup* group : row) compare_with(**fcfs, *group, metric);
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

constexpr std::string_view kRegimeMetric = "jct_wall_mean_s";

Regime regime_of(const ReportPanel& panel, const std::string& dram,
                 std::vector<const ReportGroup*> contenders) {
  const auto value = [](const ReportGroup* group) {
    return group->figures.find(kRegimeMetric)->second.mean;
  };
  std::ranges::stable_sort(contenders, {}, value);
  const ReportGroup &best = *contenders[0], &next = *contenders[1];
  Regime regime{panel.kind, panel.settings, panel.gpu,    dram,
                best.jps,   best.variant,   next.variant, {}};
  for (const ReportGroup* each : contenders | std::views::drop(1))
    if (is_tie(best, *each, kRegimeMetric)) regime.tied.push_back(each->variant);
  regime.value = value(&best);
  regime.runner_value = value(&next);
  regime.margin = regime.runner_value / regime.value - 1;
  const Pairs pairs = pairs_of(best, next, kRegimeMetric);
  const Interval ratio = bootstrap_ratio_interval(pairs.base, pairs.value, pairs.paired);
  regime.margin_interval = {ratio.low - 1, ratio.high - 1};
  regime.repeats = std::min(pairs.base.size(), pairs.value.size());
  return regime;
}

/// The sizes of host memory in a panel; only "-" if no policy has a host tier.
std::vector<std::string> dram_sizes(const ReportPanel& panel) {
  std::vector<std::string> sizes;
  for (const ReportGroup& group : panel.groups) {
    if (group.dram != "-" && std::ranges::find(sizes, group.dram) == sizes.end())
      sizes.push_back(group.dram);
  }
  if (sizes.empty()) sizes.emplace_back("-");
  return sizes;
}

}  // namespace

void rate_panel(ReportPanel& panel, std::span<const Published> published) {
  for (const std::string& rate : panel.rates) {
    Groups row;
    for (ReportGroup& group : panel.groups)
      if (group.jps == rate) row.push_back(&group);
    for (ReportGroup* group : row) {
      remark(panel, *row.front(), *group);
      for (const std::string_view metric : kReportMetrics)
        group->figures.emplace(metric, over_repeats(*group, metric));
      add_published(panel, *group, published);
    }
    for (const std::string_view metric : kReportMetrics) rate_row(row, metric);
  }
}

std::vector<Regime> regimes_of(std::span<const ReportPanel> panels) {
  std::vector<Regime> regimes;
  for (const ReportPanel& panel : panels) {
    for (const std::string& dram : dram_sizes(panel)) {
      for (const std::string& rate : panel.rates) {
        std::vector<const ReportGroup*> contenders;
        for (const ReportGroup& group : panel.groups) {
          const bool takes_part = group.jps == rate && (group.dram == "-" || group.dram == dram);
          if (takes_part && !std::isnan(group.figures.find(kRegimeMetric)->second.mean))
            contenders.push_back(&group);
        }
        if (contenders.size() > 1) regimes.push_back(regime_of(panel, dram, contenders));
      }
    }
  }
  return regimes;
}

}  // namespace analysis
