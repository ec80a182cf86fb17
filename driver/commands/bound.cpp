#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/compare/config.hpp"
#include "analysis/text/escape.hpp"
#include "analysis/text/text_table.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/command_line/exit_codes.hpp"
#include "driver/commands/commands.hpp"
#include "driver/plan/history.hpp"
#include "workers/bounds/cell_bound.hpp"

namespace driver {
namespace {

/// Cells with one bound: the same jobs, arrivals, costs and limits.
struct Group {
  bounds::CellBound bound;
  std::vector<const PlannedCell*> cells;
};

/// In plan order.
std::vector<Group> groups_of(const Plan& plan) {
  std::vector<Group> groups;
  std::map<std::string, std::size_t> places;
  worker::WorkloadCache workloads;
  for (const PlannedCell& planned : plan.cells) {
    if (!planned.selected || !planned.bound) continue;
    const worker::ExperimentConfig& config = planned.bound->config;
    const auto [place, is_new] = places.try_emplace(bounds::bound_key(config), groups.size());
    if (is_new) groups.push_back({bounds::bound_of(config, workloads), {}});
    groups[place->second].cells.push_back(&planned);
  }
  return groups;
}

/// The axes in which the cells differ, and the policy.
std::set<std::string> axes_of_policies(const Group& group) {
  std::set<std::string> names = {"policy"};
  std::map<std::pair<std::string, std::string>, std::size_t> cells_with;
  for (const PlannedCell* planned : group.cells)
    for (const auto& [axis, value] : planned->cell.axes)
      ++cells_with[{axis, sweep::to_text(value)}];
  for (const auto& [setting, count] : cells_with)
    if (count < group.cells.size()) names.insert(setting.first);
  return names;
}

/// The settings of a cell that belong to its policy, or those that do not.
std::string settings(const PlannedCell& planned, const std::set<std::string>& of_policies,
                     bool policy) {
  sweep::AxisValues axes;
  for (const auto& axis : planned.cell.axes)
    if (of_policies.contains(axis.first) == policy) axes.push_back(axis);
  return analysis::terminal_text(sweep::to_text(axes));
}

/// Groups that differ in their seed alone, each with a bound of its own.
struct Place {
  std::string where;
  std::vector<const Group*> seeds;
  std::set<std::string> of_policies;
};

int repeat_of(const Group& group) { return group.cells.front()->cell.repeat; }

bool has_repeat(const Place& place, int repeat) {
  return std::ranges::any_of(place.seeds,
                             [&](const Group* group) { return repeat_of(*group) == repeat; });
}

/// In plan order. Where an override makes the workload of some policies another one, they have a
/// place of their own.
std::vector<Place> places_of(const std::vector<Group>& groups) {
  std::vector<Place> places;
  for (const Group& group : groups) {
    const std::set<std::string> of_policies = axes_of_policies(group);
    const std::string where = settings(*group.cells.front(), of_policies, false);
    const auto known = std::ranges::find_if(places, [&](const Place& place) {
      return place.where == where && !has_repeat(place, repeat_of(group));
    });
    if (known == places.end())
      places.push_back({where, {&group}, of_policies});
    else
      known->seeds.push_back(&group);
  }
  return places;
}

using analysis::two_decimals;

/// Mean over the seeds of each bound: the mean of lower bounds is a lower bound of the mean. A part
/// that a seed lacks is left out.
bounds::MeanBound mean_bound(const Place& place) {
  using Part = std::optional<double>;
  const auto mean = [&](const std::function<Part(const bounds::MeanBound&)>& part) -> Part {
    double sum = 0;
    for (const Group* group : place.seeds) {
      const Part value = part(group->bound.mean);
      if (!value) return std::nullopt;
      sum += *value;
    }
    return sum / static_cast<double>(place.seeds.size());
  };
  return {mean([](const bounds::MeanBound& each) -> Part { return each.alone_s; }).value_or(0),
          mean([](const bounds::MeanBound& each) { return each.work_s; }),
          mean([](const bounds::MeanBound& each) { return each.cuts_s; }),
          mean([](const bounds::MeanBound& each) { return each.memory_s; })};
}

std::string bound_text(const Place& place, const bounds::MeanBound& mean) {
  const std::string& because = place.seeds.front()->bound.alone_because;
  std::string text = "mean JCT >= " + two_decimals(mean.best_s()) + " s (" + mean.label() + ")";
  if (place.seeds.size() > 1) text += " over " + std::to_string(place.seeds.size()) + " seeds";
  if (!because.empty()) return text + ", the only bound: " + because;
  text += "; alone " + two_decimals(mean.alone_s);
  if (mean.work_s) text += ", work " + two_decimals(*mean.work_s);
  if (mean.cuts_s) text += ", cuts " + two_decimals(*mean.cuts_s);
  if (mean.memory_s) text += ", memory " + two_decimals(*mean.memory_s);
  return text;
}

struct Seen {
  std::string policy;
  double mean_s = 0;  // over its seeds
  std::size_t seeds = 0;
};

/// The policies of a place, best first; `partial` gets those that lack a seed.
std::vector<Seen> seen_of(const Place& place, const PlanHistory& history,
                          std::vector<Seen>& partial) {
  std::vector<Seen> all, whole;
  for (const Group* group : place.seeds) {
    for (const PlannedCell* planned : group->cells) {
      const auto record = history.result_of(*planned);
      if (!record) continue;
      const double mean_s = analysis::ConfiguredCell(*record).figure("jct_wall_mean_s");
      if (std::isnan(mean_s)) continue;
      const std::string policy = settings(*planned, place.of_policies, true);
      auto seen = std::ranges::find(all, policy, &Seen::policy);
      if (seen == all.end()) seen = all.insert(all.end(), Seen{policy});
      seen->mean_s += (mean_s - seen->mean_s) / static_cast<double>(++seen->seeds);
    }
  }
  for (const Seen& each : all) (each.seeds == place.seeds.size() ? whole : partial).push_back(each);
  std::ranges::stable_sort(whole, {}, &Seen::mean_s);
  return whole;
}

void print_regret(const bounds::MeanBound& bound, const std::vector<Seen>& seen) {
  const double best_s = seen.front().mean_s, least_s = bound.best_s();
  std::cout << "  optimum in [" << two_decimals(least_s) << ", " << two_decimals(best_s)
            << "] s, best seen: " << seen.front().policy;
  if (best_s > 2 * least_s) std::cout << "; wider than a factor of two";
  std::cout << '\n';
  using Align = analysis::TextTable::Align;
  analysis::TextTable table;
  table.add_column("  policy", "", Align::left);
  table.add_column("mean JCT", "s", Align::right);
  table.add_column("certified regret", "mean / bound - 1, %", Align::right);
  table.add_column("to best known", "mean / best - 1, %", Align::right);
  const auto percent = [](double ratio) { return two_decimals(100 * (ratio - 1)); };
  for (const Seen& each : seen)
    table.add_row({"  " + each.policy, two_decimals(each.mean_s), percent(each.mean_s / least_s),
                   percent(each.mean_s / best_s)});
  table.print(std::cout);
}

void print_seen(const Place& place, const bounds::MeanBound& bound, const PlanHistory& history) {
  std::vector<Seen> partial;
  const auto seen = seen_of(place, history, partial);
  if (seen.empty() && partial.empty()) std::cout << "  no result in the archive\n";
  if (!seen.empty()) print_regret(bound, seen);
  for (const Seen& each : partial)
    std::cout << "  left out: " << each.policy << " has " << each.seeds << " of "
              << place.seeds.size() << " seeds\n";
}

}  // namespace

int bound(const Options& options) {
  const Plan plan = make_plan(options.arguments.front(), options);
  if (plan.backend != "sim")
    throw UsageError("bounds need costs that are known exactly, as on sim: give --backend sim");
  const std::vector<Group> groups = groups_of(plan);
  if (groups.empty()) throw sweep::SpecError(plan.spec.path + ": no cell can run");
  std::optional<sweep::ArchiveReader> archive;
  std::optional<PlanHistory> history;
  if (options.archive) {
    archive.emplace(open_archive(options.archive->string()));
    history.emplace(*archive, options.archive->string(), plan.spec.name);
  }
  for (const Place& place : places_of(groups)) {
    const bounds::MeanBound bound = mean_bound(place);
    std::cout << (place.where.empty() ? analysis::terminal_text(plan.spec.name) : place.where)
              << ": " << bound_text(place, bound) << '\n';
    if (history) print_seen(place, bound, *history);
  }
  if (const int others = history ? history->unplanned(plan) : 0; others > 0)
    std::cout << others << " results in the archive have other settings: give the same --set\n";
  return kOk;
}

}  // namespace driver
