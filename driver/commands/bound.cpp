#include <algorithm>
#include <cmath>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/compare/config.hpp"
#include "analysis/text/escape.hpp"
#include "analysis/text/text_table.hpp"
#include "driver/bound/places.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/command_line/failure.hpp"
#include "driver/commands/commands.hpp"
#include "driver/plan/history.hpp"
#include "sweeps/files/durable_file.hpp"

namespace driver {
namespace {

using analysis::two_decimals;

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
