#include "analysis/claims/missing_cells.hpp"

#include <algorithm>

namespace analysis {

void MissingCells::add(const ClaimRow& row) {
  add(row.point->cells);
  if (row.point->is_ratio) add(row.point->base);
  repeats_ = std::max(repeats_, row.ours.repeats);
}

void MissingCells::add(const CellFilter& filter) {
  for (const char* key : {"gpu", "policy", "jps"}) {
    const auto found = filter.find(key);
    if (found == filter.end()) {
      any_.insert(key);
    } else {
      values_[key].insert(found->second.begin(), found->second.end());
    }
  }
}

std::string MissingCells::only_options() const {
  std::string text;
  for (const auto& [key, allowed] : values_) {
    if (any_.contains(key) || allowed.contains("-")) continue;
    text += (text.empty() ? " --only " : ",") + key + '=';
    for (const std::string& each : allowed) text += (each == *allowed.begin() ? "" : ",") + each;
  }
  return text;
}

std::string MissingCells::command(const std::string& experiment, const std::string& set,
                                  const std::string& suffix) const {
  return "  kvsweep run sweeps/experiments/" + experiment +
         ".toml --set repeat.n=" + std::to_string(repeats_) + set + only_options() + " --archive " +
         experiment + suffix + ".h5";
}

}  // namespace analysis
