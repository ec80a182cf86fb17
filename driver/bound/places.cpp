#include "driver/bound/places.hpp"

#include <algorithm>
#include <functional>
#include <map>

#include "analysis/text/escape.hpp"

namespace driver {
namespace {

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

}  // namespace

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

std::string settings(const PlannedCell& planned, const std::set<std::string>& of_policies,
                     bool policy) {
  sweep::AxisValues axes;
  for (const auto& axis : planned.cell.axes)
    if (of_policies.contains(axis.first) == policy) axes.push_back(axis);
  return analysis::terminal_text(sweep::to_text(axes));
}

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

}  // namespace driver
