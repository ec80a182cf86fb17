#include "analysis/compare/side_by_side.hpp"

#include <algorithm>
#include <map>

#include "analysis/compare/config.hpp"
#include "analysis/compare/groups.hpp"
#include "analysis/text/text_table.hpp"

namespace analysis {
namespace {

/// Whether a key says what was to be served and on which card, by whatever backend.
bool is_of_load(const std::string& key) {
  return key == "gpu" || key == "model" || key == "jps" || key.starts_with("workload.");
}

void require_same_load(const ConfiguredCell& a, const ConfiguredCell& b,
                       const std::vector<std::string>& by) {
  for (const ConfigDifference& difference : config_differences(a.config, b.config)) {
    const std::string& key = difference.key;
    // What a backend needs of the load alone: a server's vocabulary, the longest context it takes.
    const bool one_has_it = difference.a.has_value() != difference.b.has_value();
    if (!is_of_load(key) || one_has_it || std::ranges::find(by, key) != by.end()) continue;
    throw CompareError("cells " + a.record->label + " and " + b.record->label + " differ in " +
                       key + ": " + shown(difference.a) + " and " + shown(difference.b) +
                       "; name it in --by, or choose cells with --only");
  }
}

Grid columns_of(std::span<const ConfiguredCell> cells, const std::vector<std::string>& by,
                const std::string& metric) {
  Grid grid;
  for (const std::string& key : by) grid.columns.push_back({key, "", false});
  for (const char* key : {"figures of", "policy", "dram_gib"})
    grid.columns.push_back({key, "", false});
  for (const std::string& figure : {metric, std::string("ttft_mean_s"), std::string("tpot_mean_s"),
                                    std::string("prefix_hit_rate")}) {
    std::string unit;
    for (const ConfiguredCell& cell : cells)
      for (const sweep::Figure& each : cell.record->figures)
        if (each.name == figure) unit = each.unit;
    grid.columns.push_back({figure, unit});
  }
  for (const char* name : {"low95", "high95", "repeats"}) grid.columns.push_back({name, ""});
  return grid;
}

}  // namespace

Grid side_by_side(std::span<const ConfiguredCell> cells, const std::vector<std::string>& by,
                  const std::string& metric, GridFormat format) {
  std::vector<std::string> keys = by;
  for (const char* key :
       {"backend", "sim.cost_model", "engine.emulate", "server.version", "policy", "dram_gib"})
    if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
  const std::vector<RepeatGroup> groups = groups_by(cells, with_axes(keys, cells));
  if (groups.empty()) throw CompareError("no cell has a result");
  std::map<std::string, std::vector<const RepeatGroup*>> places;
  std::vector<std::string> order;
  for (const RepeatGroup& group : groups) {
    std::string place;
    for (std::size_t i = 0; i < by.size(); ++i) place += group.texts[i] + '\n';
    if (!places.contains(place)) order.push_back(place);
    auto& there = places[place];
    if (!there.empty())
      require_same_load(*there.front()->repeats.front(), *group.repeats.front(), by);
    there.push_back(&group);
  }
  Grid grid = columns_of(cells, by, metric);
  const auto number = [&](double value) {
    return format == GridFormat::csv ? exact_number(value) : four_digits(value);
  };
  for (const std::string& place : order)
    for (const RepeatGroup* group : places[place]) {
      const ConfiguredCell& cell = *group->repeats.front();
      std::vector<std::string> texts;
      for (std::size_t i = 0; i < by.size(); ++i) texts.push_back(shown(group->at[i]));
      texts.push_back(figures_kind(cell));
      for (const char* key : {"policy", "dram_gib"}) texts.push_back(shown(cell.value(key)));
      for (const char* figure : {metric.c_str(), "ttft_mean_s", "tpot_mean_s", "prefix_hit_rate"})
        texts.push_back(number(mean_of(by_seed(group->repeats, figure)).value));
      const Estimate mean = mean_of(by_seed(group->repeats, metric));
      texts.push_back(number(mean.interval.low));
      texts.push_back(number(mean.interval.high));
      texts.push_back(std::to_string(mean.repeats));
      grid.rows.push_back(std::move(texts));
    }
  return grid;
}

}  // namespace analysis
