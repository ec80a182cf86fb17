#include "analysis/report/panels.hpp"

#include <algorithm>

#include "analysis/compare/groups.hpp"
#include "analysis/compare/kind.hpp"

namespace analysis {
namespace {

using Cells = std::vector<const ConfiguredCell*>;

bool is_of_policy(const std::string& key) { return key.starts_with("policy."); }

/// The keys in which cells of one card, policy and rate differ. Keys of the policy make variants,
/// the others make panels.
struct Keys {
  std::vector<std::string> panel, variant;

  bool add(const std::string& key) {
    std::vector<std::string>& keys = is_of_policy(key) ? variant : panel;
    if (std::ranges::find(keys, key) != keys.end()) return false;
    keys.push_back(key);
    return true;
  }
};

std::string settings_text(const ConfiguredCell& cell, const std::vector<std::string>& keys,
                          std::string_view prefix) {
  std::string text;
  for (const std::string& key : keys) {
    const auto value = cell.value(key);
    if (!value) continue;
    text += (text.empty() ? "" : ", ") + key.substr(prefix.size()) + '=' + shown(value);
  }
  return text;
}

std::string variant_text(const ConfiguredCell& cell, const Keys& keys) {
  const std::string more = settings_text(cell, keys.variant, "policy.");
  return variant_of(cell) + (more.empty() ? "" : " (" + more + ')');
}

/// What a group of repeats has in common, as a text.
std::string group_key(const ConfiguredCell& cell, const Keys& keys) {
  return figures_kind(cell) + '\n' + key_text(cell.value("gpu")) + '\n' +
         settings_text(cell, keys.panel, "") + '\n' + variant_text(cell, keys) + '\n' +
         key_text(cell.value("jps"));
}

void add_axes(Keys& keys, const Cells& cells) {
  for (const ConfiguredCell* cell : cells) {
    for (const auto& [axis, value] : cell->record->axes) {
      if (axis != "gpu" && axis != "policy" && axis != "jps" && axis != "dram_gib") keys.add(axis);
    }
  }
}

/// Adds workload keys that differ: these do not follow from a card or policy.
void add_workloads(Keys& keys, const Cells& cells) {
  for (const ConfiguredCell* cell : cells) {
    for (const auto& difference : config_differences(cells.front()->config, cell->config)) {
      if (difference.key == "model" || difference.key.starts_with("workload."))
        keys.add(difference.key);
    }
  }
}

/// Adds keys until the cells of every group differ only in their seed.
Keys telling_apart(const Cells& cells) {
  Keys keys;
  if (cells.empty()) return keys;
  add_axes(keys, cells);
  add_workloads(keys, cells);
  for (bool grown = true; grown;) {
    grown = false;
    std::map<std::string, const ConfiguredCell*> first;
    for (const ConfiguredCell* cell : cells) {
      const auto [place, is_new] = first.emplace(group_key(*cell, keys), cell);
      if (is_new) continue;
      for (const auto& difference : config_differences(place->second->config, cell->config)) {
        if (difference.key != "repeat.seed") grown = keys.add(difference.key) || grown;
      }
    }
  }
  return keys;
}

std::string device_text(const sweep::CellRun& run) {
  if (run.gpu_name.empty()) return "";
  const std::int64_t gib = run.gpu_memory_bytes >> 30;
  return run.gpu_name + (gib > 0 ? ", " + std::to_string(gib) + " GiB" : "");
}

template <class T>
void add_once(std::vector<T>& list, const T& value) {
  if (std::ranges::find(list, value) == list.end()) list.push_back(value);
}

/// Bounds the size of the page: beyond 300 cells their lines get coarser.
int spans_for(std::size_t cells) {
  constexpr int kFewest = 24;
  constexpr std::size_t kInFull = 300;
  if (cells <= kInFull) return CellTimes::kSpans;
  return std::max(kFewest, static_cast<int>(CellTimes::kSpans * kInFull / cells));
}

/// Collects cells into panels, reading the tables of each once.
class PanelBuilder {
 public:
  PanelBuilder(const Keys& keys, const PanelSources& sources)
      : keys_(keys), sources_(sources), spans_(spans_for(sources.size())) {}

  void add(const ConfiguredCell& cell) {
    const std::size_t at = panel_of(cell);
    ReportPanel& panel = panels_[at];
    const std::string jps = shown(cell.value("jps"));
    add_once(panel.rates, jps);
    add_once(panel.variants, variant_text(cell, keys_));
    const std::string device = device_text(cell.record->run);
    if (!device.empty() && panel.devices.find(device) == std::string::npos)
      panel.devices += (panel.devices.empty() ? "" : "; ") + device;
    ReportGroup& group = group_of(panel, cell, jps);
    group.repeats.push_back(&cell);
    digest(cell, group);
    if (group.repeats.size() == 1) tell(cell, panel, group);
  }

  std::vector<ReportPanel> finish() { return std::move(panels_); }

 private:
  std::size_t panel_of(const ConfiguredCell& cell) {
    const std::string kind = figures_kind(cell), gpu = shown(cell.value("gpu")),
                      settings = settings_text(cell, keys_.panel, "");
    const auto [place, is_new] =
        positions_.emplace(kind + '\n' + gpu + '\n' + settings, panels_.size());
    if (is_new) {
      ReportPanel& panel = panels_.emplace_back();
      panel.kind = kind;
      panel.gpu = gpu;
      panel.settings = settings;
    }
    return place->second;
  }

  ReportGroup& group_of(ReportPanel& panel, const ConfiguredCell& cell, const std::string& jps) {
    const std::string variant = variant_text(cell, keys_);
    const auto [place, is_new] =
        groups_.emplace(group_key(cell, keys_), panel.groups.size());  // index in its panel
    if (!is_new) return panel.groups[place->second];
    ReportGroup& group = panel.groups.emplace_back();
    group.jps = jps;
    group.variant = variant;
    group.dram = shown(cell.value("dram_gib"));
    return group;
  }

  sweep::Table load(const ConfiguredCell& cell, std::string_view table) const {
    const PanelSource& source = sources_.at(&cell);
    return source.reader->load_table(source.row, table);
  }

  void digest(const ConfiguredCell& cell, ReportGroup& group) const {
    group.jobs.add(digest_jobs(load(cell, "jobs"), load(cell, "turns")));
    const sweep::Table steps = load(cell, "steps");
    group.steps.add(digest_steps(steps));
    group.times.push_back(digest_times(steps, spans_));
  }

  /// The first policy at a rate chooses the gap; the others show the same one.
  void tell(const ConfiguredCell& cell, ReportPanel& panel, const ReportGroup& group) {
    const sweep::Table turns = load(cell, "turns");
    const std::string key =
        panel.kind + '\n' + panel.gpu + '\n' + panel.settings + '\n' + group.jps;
    const auto [chosen, is_first] = chosen_.try_emplace(key);
    if (is_first) chosen->second = choose_gap(load(cell, "jobs"), turns);
    const auto size = cell.value("engine.block_size");
    const auto* block_tok = size ? std::get_if<std::int64_t>(&*size) : nullptr;
    GapTimeline timeline;
    timeline.variant = group.variant;
    const int tokens = block_tok != nullptr ? static_cast<int>(*block_tok) : 16;
    if (!replay_gap(chosen->second, turns, load(cell, "kv_events"), tokens, timeline)) return;
    auto gap = std::ranges::find(panel.gaps, group.jps, &OneGap::jps);
    if (gap == panel.gaps.end()) {
      gap = panel.gaps.insert(gap, OneGap{group.jps, chosen->second.id, chosen->second.turn, {}});
    }
    gap->timelines.push_back(std::move(timeline));
  }

  const Keys& keys_;
  const PanelSources& sources_;
  int spans_;
  std::vector<ReportPanel> panels_;
  std::map<std::string, std::size_t> positions_, groups_;
  std::map<std::string, ChosenGap> chosen_;
};

}  // namespace

std::vector<ReportPanel> make_panels(const std::deque<ConfiguredCell>& cells,
                                     const PanelSources& sources,
                                     std::span<const Published> published) {
  Cells with_results;
  for (const ConfiguredCell& cell : cells)
    if (sources.contains(&cell)) with_results.push_back(&cell);
  const Keys keys = telling_apart(with_results);
  PanelBuilder builder(keys, sources);
  for (const ConfiguredCell* cell : with_results) builder.add(*cell);
  std::vector<ReportPanel> panels = builder.finish();
  for (ReportPanel& panel : panels) rate_panel(panel, published);
  return panels;
}

}  // namespace analysis
