#pragma once
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "analysis/compare/config.hpp"
#include "sweeps/definition/canonical_json.hpp"
#include "sweeps/files/sha256.hpp"

using Settings = std::map<std::string, sweep::Value>;

inline sweep::Value text(const std::string& word) { return word; }
inline sweep::Value whole(std::int64_t number) { return number; }

/// The rows of /cells of an archive without a run: gpu, policy and jps are axes, everything else
/// of the configuration is given per cell.
class ArchivedCells {
 public:
  /// Unless settings say otherwise: an h100-80gb, llama-3.1-8b, one job a second.
  sweep::CellRecord& add(Settings settings, double jct_wall_mean_s, std::int64_t seed = 42) {
    settings.try_emplace("backend", text("sim"));
    settings.try_emplace("gpu", text("h100-80gb"));
    settings.try_emplace("model", text("llama-3.1-8b"));
    settings.try_emplace("jps", whole(1));
    settings["repeat.seed"] = seed;
    sweep::CellRecord& cell = cells_.emplace_back();
    cell.index = static_cast<int>(cells_.size()) - 1;
    for (const char* axis : {"gpu", "policy", "jps", "dram_gib"}) {
      if (!settings.contains(axis)) continue;
      cell.axes.emplace_back(axis, settings.at(axis));
      if (!cell.label.empty()) cell.label += ' ';
      cell.label.append(axis).append("=").append(analysis::shown(settings.at(axis)));
    }
    cell.config_json = sweep::canonical_json(settings);
    cell.key = sweep::sha256_of(cell.config_json);
    cell.backend = analysis::shown(settings.at("backend"));
    cell.seed = seed;
    cell.repeat = static_cast<int>(seed - 42);
    cell.status = sweep::CellStatus::ok;
    cell.figures = {{"jct_wall_mean_s", jct_wall_mean_s, "s"}};
    return cell;
  }

  std::vector<analysis::ConfiguredCell> cells() const {
    std::vector<analysis::ConfiguredCell> configured;
    for (const sweep::CellRecord& cell : cells_) configured.emplace_back(cell);
    return configured;
  }

 private:
  std::deque<sweep::CellRecord> cells_;  // which configured cells point into
};
