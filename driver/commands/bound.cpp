#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <set>

#include "analysis/text/escape.hpp"
#include "analysis/text/text_table.hpp"
#include "driver/bound/restored.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/command_line/failure.hpp"
#include "driver/commands/commands.hpp"
#include "driver/plan/plan.hpp"
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

/// The settings of the cells that do not belong to their policies.
std::string where_is(const Group& group) {
  sweep::AxisValues axes = group.cells.front()->cell.axes;
  const std::set<std::string> of_policies = axes_of_policies(group);
  std::erase_if(axes, [&](const auto& axis) { return of_policies.contains(axis.first); });
  return analysis::terminal_text(sweep::to_text(axes));
}

/// Where an override makes the workload of some policies another one, they have a place of their
/// own.
std::vector<Place> places_of(const std::vector<Group>& groups) {
  std::vector<Place> places;
  for (const Group& group : groups) {
    const std::string where = where_is(group);
    const auto known = std::ranges::find_if(places, [&](const Place& place) {
      return place.where == where && !has_repeat(place, repeat_of(group));
    });
    if (known == places.end())
      places.push_back({where, {&group}});
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

/// Whether the file begins as HDF5 files do.
bool is_archive(const std::string& path) {
  constexpr std::string_view kBegin = "\x89HDF\r\n\x1a\n";
  return sweep::file_bytes(path, kBegin.size()) == kBegin;
}

/// What the turns of a cell found cached when they were first admitted, in blocks before the last
/// token of a prompt: a row of print_misses().
std::vector<std::string> misses_of(const sweep::Table& turns, const bounds::TurnBlocks& blocks,
                                   const worker::ExperimentConfig& config) {
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
  return {two_decimals(100.0 * static_cast<double>(hits) / static_cast<double>(prompts)),
          std::to_string(missed), std::to_string(least.least), std::to_string(least.compulsory)};
}

/// The misses of each cell that has its turns, beside the fewest in the order in which it served
/// them.
void print_misses(sweep::ArchiveReader& archive, const Options& options) {
  analysis::Grid grid;
  grid.columns.push_back({"cell", "", false});
  grid.columns.push_back({"hits", "%"});
  grid.columns.push_back({"missed", "blocks"});
  grid.columns.push_back({"at least", "in this order"});
  grid.columns.push_back({"compulsory", ""});
  worker::Profiles profiles(options.profiles);
  worker::WorkloadCache workloads;
  std::map<std::string, bounds::TurnBlocks> known;                 // by bound_key()
  const std::vector<sweep::CellRecord> records = archive.cells();  // reading may replace them
  for (const analysis::ConfiguredCell& cell : selected_cells(records, options)) {
    if (cell.record->status != sweep::CellStatus::ok ||
        !sweep::lack_of_table(*cell.record, "turns").empty())
      continue;
    try {
      const worker::ExperimentConfig config = restored(cell, options.set, profiles);
      auto blocks = known.find(bounds::bound_key(config));
      if (blocks == known.end())
        blocks = known.emplace(bounds::bound_key(config), bounds::turn_blocks_of(config, workloads))
                     .first;
      const sweep::Table turns = archive.load_table(cell.record->index, "turns");
      std::vector<std::string> row = {cell.record->label};
      for (std::string& text : misses_of(turns, blocks->second, config))
        row.push_back(std::move(text));
      grid.rows.push_back(row);
    } catch (const NotRestored&) {  // the table of bounds has said why
    } catch (const sweep::SpecError&) {
    }
  }
  std::cout << '\n';
  print_text(grid, std::cout);
}

/// For the cells of an archive as it restores them, without their sweep file.
int bound_of_archive(Options options) {
  if (options.backend || options.cell)
    throw UsageError("bound A.h5 takes neither --backend nor --cell");
  options.bound = true;
  const int code = table(options);
  sweep::ArchiveReader archive = open_archive(options.arguments.front());
  print_misses(archive, options);
  return code;
}

}  // namespace

int bound(const Options& options) {
  if (is_archive(options.arguments.front())) return bound_of_archive(options);
  const Plan plan = make_plan(options.arguments.front(), options);
  if (plan.backend != "sim")
    throw UsageError("bounds need costs that are known exactly, as on sim: give --backend sim");
  const std::vector<Group> groups = groups_of(plan);
  if (groups.empty()) throw sweep::SpecError(plan.spec.path + ": no cell can run");
  for (const Place& place : places_of(groups))
    std::cout << (place.where.empty() ? analysis::terminal_text(plan.spec.name) : place.where)
              << ": " << mean_text(place, mean_bound(place))
              << "; hits <= " << two_decimals(100 * mean_most_hits(place))
              << " % of prompt tokens\n";
  return kOk;
}

}  // namespace driver
