#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/compare/config.hpp"
#include "analysis/text/escape.hpp"
#include "analysis/text/text_table.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/command_line/failure.hpp"
#include "driver/commands/commands.hpp"
#include "driver/plan/history.hpp"
#include "sweeps/files/durable_file.hpp"
#include "workers/bounds/cell_bound.hpp"

namespace driver {
namespace {

using analysis::two_decimals;

/// Cells with one bound: the same jobs, arrivals, costs and limits.
struct Group {
  bounds::CellBound bound;
  double most_hits = 0;  // part of the prompt tokens that any of the cells can find cached
  std::vector<const PlannedCell*> cells;
};

/// Groups that differ in their seed alone, each with a bound of its own.
struct Place {
  std::string where;
  std::vector<const Group*> seeds;
  std::set<std::string> of_policies;
};

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

int repeat_of(const Group& group) { return group.cells.front()->cell.repeat; }

bool has_repeat(const Place& place, int repeat) {
  return std::ranges::any_of(place.seeds,
                             [&](const Group* group) { return repeat_of(*group) == repeat; });
}

double most_hits(const worker::ExperimentConfig& config, worker::WorkloadCache& workloads) {
  const bounds::HitBound hits = bounds::most_hits_of(config, workloads);
  return static_cast<double>(hits.most_tokens) /
         static_cast<double>(std::max<std::int64_t>(1, hits.prompt_tokens));
}

/// In plan order, from the selected cells that run.
std::vector<Group> groups_of(const Plan& plan) {
  std::vector<Group> groups;
  std::map<std::string, std::size_t> places;
  worker::WorkloadCache workloads;
  for (const PlannedCell& planned : plan.cells) {
    if (!planned.selected || !planned.runs()) continue;
    const worker::ExperimentConfig config = planned.config();
    const auto [place, is_new] = places.try_emplace(bounds::bound_key(config), groups.size());
    if (is_new) groups.push_back({bounds::bound_of(config, workloads), 0, {}});
    Group& group = groups[place->second];
    group.cells.push_back(&planned);
    group.most_hits = std::max(group.most_hits, most_hits(config, workloads));
  }
  return groups;
}

/// The settings of a cell that belong to its policy, or those that do not.
std::string settings(const PlannedCell& planned, const std::set<std::string>& of_policies,
                     bool policy) {
  sweep::AxisValues axes;
  for (const auto& axis : planned.cell.axes)
    if (of_policies.contains(axis.first) == policy) axes.push_back(axis);
  return analysis::terminal_text(sweep::to_text(axes));
}

/// Where an override makes the workload of some policies another one, they have a place of their
/// own.
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

double mean_most_hits(const Place& place) {
  double sum = 0;
  for (const Group* group : place.seeds) sum += group->most_hits;
  return sum / static_cast<double>(place.seeds.size());
}

/// What the turns of a cell found cached when they were first admitted.
struct CacheUse {
  double hits = 0;                 // part of the prompt tokens
  double missed_blocks = 0;        // whole blocks of prompts before the last token
  double least_missed_blocks = 0;  // by MIN, with the turns served in the same order
  double compulsory_blocks = 0;    // of these, those that no turn had filled before
};

/// What the result with this key found; empty where the archive lacks its turns. `blocks`: of its
/// workload. Throws sweep::ArchiveDamaged.
std::optional<CacheUse> cache_use_of(sweep::ArchiveReader& archive, const std::string& key,
                                     const worker::ExperimentConfig& config,
                                     const bounds::TurnBlocks& blocks) {
  const auto& cells = archive.cells();
  const auto cell = std::ranges::find(cells, key, &sweep::CellRecord::key);
  if (cell == cells.end()) return std::nullopt;
  const sweep::Table turns = archive.load_table(static_cast<int>(cell - cells.begin()), "turns");
  if (turns.rows() == 0) return std::nullopt;
  const auto& job = turns.values<std::int32_t>("job");
  const auto& turn = turns.values<std::int32_t>("turn");
  const auto& admitted = turns.values<double>("t_admit_s");
  const auto& finished = turns.values<double>("t_finish_s");
  const auto& prompt = turns.values<std::int32_t>("prompt_tok");
  const auto& on_gpu = turns.values<std::int32_t>("cached_gpu_tok");
  const auto& on_host = turns.values<std::int32_t>("cached_host_tok");
  const int block = config.engine.kv.block_size;
  std::vector<bounds::Served> served;
  std::int64_t prompts = 0, hits = 0, missed = 0;
  for (std::size_t row = 0; row < turns.rows(); ++row) {
    const int hit = on_gpu[row] + on_host[row];
    prompts += prompt[row];
    hits += hit;
    missed += (prompt[row] - 1) / block - hit / block;
    served.push_back({job[row], turn[row], admitted[row], finished[row]});
  }
  const bounds::MissBound least = blocks.least_misses(served, bounds::block_capacity(config));
  return CacheUse{static_cast<double>(hits) / static_cast<double>(prompts),
                  static_cast<double>(missed), static_cast<double>(least.least),
                  static_cast<double>(least.compulsory)};
}

/// Results of an archive, by cell of the plan.
struct Results {
  Results(const std::string& path, const std::string& sweep_name)
      : archive(open_archive(path)), history(archive, path, sweep_name) {}

  sweep::ArchiveReader archive;
  PlanHistory history;
  worker::WorkloadCache workloads;
};

std::string mean_text(const Place& place, const bounds::MeanBound& mean) {
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

std::string percent(double part) { return two_decimals(100 * part); }

std::string bound_text(const Place& place, const bounds::MeanBound& mean) {
  return mean_text(place, mean) + "; hits <= " + percent(mean_most_hits(place)) +
         " % of prompt tokens";
}

/// Means over the seeds.
struct Seen {
  std::string policy;
  bool reference = false;
  double mean_s = 0;
  std::size_t seeds = 0;
  CacheUse cache{};
  std::size_t cache_seeds = 0;  // whose turns are known
};

void add(Seen& seen, double mean_s, const std::optional<CacheUse>& cache) {
  const auto to_mean = [](double& mean, double value, std::size_t n) {
    mean += (value - mean) / static_cast<double>(n);
  };
  to_mean(seen.mean_s, mean_s, ++seen.seeds);
  if (!cache) return;
  ++seen.cache_seeds;
  for (double CacheUse::*part : {&CacheUse::hits, &CacheUse::missed_blocks,
                                 &CacheUse::least_missed_blocks, &CacheUse::compulsory_blocks})
    to_mean(seen.cache.*part, (*cache).*part, seen.cache_seeds);
}

/// The policies of a place, best first; `partial` gets those that lack a seed.
std::vector<Seen> seen_of(const Place& place, Results& results, std::vector<Seen>& partial) {
  std::vector<Seen> all, whole;
  for (const Group* group : place.seeds) {
    std::optional<bounds::TurnBlocks> blocks;
    for (const PlannedCell* planned : group->cells) {
      const auto record = results.history.result_of(*planned, sweep::RecordLevel::summary);
      if (!record) continue;
      const analysis::ConfiguredCell cell(*record);
      const double mean_s = cell.figure("jct_wall_mean_s");
      if (std::isnan(mean_s)) continue;
      const std::string policy = settings(*planned, place.of_policies, true);
      auto seen = std::ranges::find(all, policy, &Seen::policy);
      if (seen == all.end())
        seen = all.insert(all.end(), Seen{policy, analysis::is_reference(cell)});
      const worker::ExperimentConfig config = planned->config();
      if (!blocks) blocks.emplace(bounds::turn_blocks_of(config, results.workloads));
      add(*seen, mean_s, cache_use_of(results.archive, planned->key, config, *blocks));
    }
  }
  for (const Seen& each : all) (each.seeds == place.seeds.size() ? whole : partial).push_back(each);
  std::ranges::stable_sort(whole, {}, &Seen::mean_s);
  return whole;
}

std::string name_of(const Seen& seen) {
  return seen.policy + (seen.reference ? " (reference)" : "");
}

/// The best one that is no reference; null without one.
const Seen* best_policy(const std::vector<Seen>& seen) {
  const auto best = std::ranges::find(seen, false, &Seen::reference);
  return best == seen.end() ? nullptr : &*best;
}

/// A reference has a schedule, too, so that the optimum is no greater than its mean.
void print_bracket(double least_s, const std::vector<Seen>& seen) {
  const Seen& best = seen.front();
  std::cout << "  optimum in [" << two_decimals(least_s) << ", " << two_decimals(best.mean_s)
            << "] s, best seen: " << name_of(best);
  const Seen* policy = best_policy(seen);
  if (policy != nullptr && policy != &best)
    std::cout << ", best policy: " << policy->policy << ", " << two_decimals(policy->mean_s)
              << " s";
  if (best.mean_s > 2 * least_s) std::cout << "; wider than a factor of two";
  std::cout << '\n';
}

void print_regret(const bounds::MeanBound& bound, const std::vector<Seen>& seen) {
  const double least_s = bound.best_s();
  print_bracket(least_s, seen);
  const Seen* best = best_policy(seen);
  using Align = analysis::TextTable::Align;
  analysis::TextTable table;
  table.add_column("  policy", "", Align::left);
  table.add_column("mean JCT", "s", Align::right);
  table.add_column("certified regret", "mean / bound - 1, %", Align::right);
  table.add_column("to best known", "mean / best - 1, %", Align::right);
  table.add_column("hits", "% of prompt tokens", Align::right);
  table.add_column("missed", "blocks", Align::right);
  table.add_column("at least", "blocks, in this order", Align::right);
  table.add_column("compulsory", "blocks", Align::right);
  for (const Seen& each : seen) {
    std::vector<std::string> row = {
        "  " + name_of(each), two_decimals(each.mean_s), percent(each.mean_s / least_s - 1),
        best == nullptr ? "-" : percent(each.mean_s / best->mean_s - 1)};
    const bool known = each.cache_seeds == each.seeds;
    row.push_back(known ? percent(each.cache.hits) : "-");
    for (const double blocks :
         {each.cache.missed_blocks, each.cache.least_missed_blocks, each.cache.compulsory_blocks})
      row.push_back(known ? std::to_string(std::llround(blocks)) : "-");
    table.add_row(row);
  }
  table.print(std::cout);
}

void print_seen(const Place& place, const bounds::MeanBound& bound, Results& results) {
  std::vector<Seen> partial;
  const auto seen = seen_of(place, results, partial);
  if (seen.empty() && partial.empty()) std::cout << "  no result in the archive\n";
  if (!seen.empty()) print_regret(bound, seen);
  for (const Seen& each : partial)
    std::cout << "  left out: " << each.policy << " has " << each.seeds << " of "
              << place.seeds.size() << " seeds\n";
}

/// Whether the file begins as HDF5 files do.
bool is_archive(const std::string& path) {
  constexpr std::string_view kBegin = "\x89HDF\r\n\x1a\n";
  return sweep::file_bytes(path, kBegin.size()) == kBegin;
}

/// For the cells of an archive as it restores them, without their sweep file.
int bound_of_archive(Options options) {
  if (options.archive || options.backend || options.cell)
    throw UsageError("bound A.h5 takes none of --archive, --backend and --cell");
  options.bound = true;
  return table(options);
}

}  // namespace

int bound(const Options& options) {
  if (is_archive(options.arguments.front())) return bound_of_archive(options);
  const Plan plan = make_plan(options.arguments.front(), options);
  if (plan.backend != "sim")
    throw UsageError("bounds need costs that are known exactly, as on sim: give --backend sim");
  const std::vector<Group> groups = groups_of(plan);
  if (groups.empty()) throw sweep::SpecError(plan.spec.path + ": no cell can run");
  std::optional<Results> results;
  if (options.archive) results.emplace(options.archive->string(), plan.spec.name);
  for (const Place& place : places_of(groups)) {
    const bounds::MeanBound bound = mean_bound(place);
    std::cout << (place.where.empty() ? analysis::terminal_text(plan.spec.name) : place.where)
              << ": " << bound_text(place, bound) << '\n';
    if (results) print_seen(place, bound, *results);
  }
  if (const std::string kept = results ? results->history.unplanned(plan) : ""; !kept.empty())
    std::cout << "in the archive " << analysis::terminal_text(kept)
              << "; for bounds of those give the same --set\n";
  return kOk;
}

}  // namespace driver
