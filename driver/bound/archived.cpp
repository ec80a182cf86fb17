#include "driver/bound/archived.hpp"

#include <map>
#include <ostream>

#include "analysis/text/escape.hpp"
#include "driver/bound/restored.hpp"
#include "workers/bounds/cell_bound.hpp"

namespace driver {

ArchivedBounds bounds_of(std::span<const analysis::ConfiguredCell> cells, const Options& options) {
  ArchivedBounds bounds;
  worker::Profiles profiles(options.profiles);
  worker::WorkloadCache workloads;
  std::map<std::string, double> known;  // by bound_key()
  std::map<std::string, int> missing;
  for (const analysis::ConfiguredCell& cell : cells) {
    if (cell.record->status != sweep::CellStatus::ok) continue;
    try {
      const worker::ExperimentConfig config = restored(cell, options.set, profiles);
      const auto [bound, is_new] = known.try_emplace(bounds::bound_key(config));
      if (is_new) bound->second = bounds::bound_of(config, workloads).mean.best_s();
      bounds.by_key[cell.record->key] = bound->second;
    } catch (const NotRestored& why) {
      ++missing[why.what()];
    } catch (const sweep::SpecError& why) {
      ++missing[why.what()];
    }
  }
  for (const auto& [why, count] : missing)
    bounds.missing.push_back(std::to_string(count) + (count == 1 ? " cell: " : " cells: ") + why);
  return bounds;
}

void print_missing(const ArchivedBounds& bounds, std::ostream& out) {
  for (const std::string& why : bounds.missing)
    out << "no bound for " << analysis::terminal_text(why) << '\n';
}

}  // namespace driver
