#include <algorithm>
#include <cmath>
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
  std::string text = sweep::to_text(axes);
  if (!policy && planned.cell.repeat > 0)
    text += " repeat=" + std::to_string(planned.cell.repeat + 1);
  return analysis::terminal_text(text);
}

using analysis::two_decimals;

std::string bound_text(const bounds::CellBound& bound) {
  const bounds::MeanBound& mean = bound.mean;
  std::string text = "mean JCT >= " + two_decimals(mean.best_s()) + " s (" + mean.label() + ")";
  if (!bound.alone_because.empty()) return text + ", the only bound: " + bound.alone_because;
  text += "; alone " + two_decimals(mean.alone_s);
  if (mean.work_s) text += ", work " + two_decimals(*mean.work_s);
  if (mean.cuts_s) text += ", cuts " + two_decimals(*mean.cuts_s);
  if (mean.memory_s) text += ", memory " + two_decimals(*mean.memory_s);
  return text;
}

struct Seen {
  std::string policy;
  double mean_s;
};

std::vector<Seen> seen_of(const Group& group, const std::set<std::string>& of_policies,
                          const PlanHistory& history) {
  std::vector<Seen> seen;
  for (const PlannedCell* planned : group.cells) {
    const auto record = history.result_of(*planned);
    if (!record) continue;
    const double mean_s = analysis::ConfiguredCell(*record).figure("jct_wall_mean_s");
    if (!std::isnan(mean_s)) seen.push_back({settings(*planned, of_policies, true), mean_s});
  }
  std::ranges::stable_sort(seen, {}, &Seen::mean_s);
  return seen;
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
  for (const Group& group : groups) {
    const std::set<std::string> of_policies = axes_of_policies(group);
    const std::string where = settings(*group.cells.front(), of_policies, false);
    std::cout << (where.empty() ? analysis::terminal_text(plan.spec.name) : where) << ": "
              << bound_text(group.bound) << '\n';
    if (!history) continue;
    const auto seen = seen_of(group, of_policies, *history);
    if (seen.empty())
      std::cout << "  no result in the archive\n";
    else
      print_regret(group.bound.mean, seen);
  }
  return kOk;
}

}  // namespace driver
