#pragma once
#include <string>
#include <vector>

#include "analysis/compare/config.hpp"
#include "analysis/text/list.hpp"

namespace analysis {

// Cells arranged for comparing policies: `run`, `table` and `report` decide over the same rows.

/// Where policies compete: figures of one kind, on one GPU, with equal settings.
struct Place {
  std::string kind, gpu, settings;  // settings: "workload.gap_s=1", or empty
  std::string telling{};            // of the settings those that tell it from other places
  /// "h100-80gb, workload.gap_s=1"
  std::string name() const { return gpu + (telling.empty() ? "" : ", " + telling); }
  std::string whole_name() const { return gpu + (settings.empty() ? "" : ", " + settings); }
  friend bool operator==(const Place&, const Place&) = default;
};

/// The kinds of figures of what has places, each once.
template <class Items>
std::vector<std::string> kinds_of(const Items& items) {
  std::vector<std::string> kinds;
  for (const auto& item : items) add_once(kinds, item.place.kind);
  return kinds;
}

/// The repeats of a policy at one place and rate; at least one.
struct PolicyCells {
  std::string variant;  // "fcfs", "cpu_offload-16G", "continuum+ttl_s=5"
  std::string dram;     // its host memory, GiB; "-": no host tier
  std::vector<const ConfiguredCell*> repeats;
};

/// The policies that compete at one place and rate, in plan order, those of one name by their host
/// memory.
struct RateRow {
  Place place;
  std::string jps;  // "-": jobs do not arrive at a rate
  std::vector<PolicyCells> policies;

  /// Null if it did not run here.
  const PolicyCells* find(std::string_view variant) const;
  /// fcfs, with which the others are compared; where the sweep changed it, the only variant that it
  /// made of it. Null if there is none, or several.
  const PolicyCells* fcfs() const;
};

/// Rows from cells with results: cards in plan order, numbers of settings and rates ascending, so
/// that several archives make one table. Cells of one variant in a row differ only in their
/// seeds: whatever else they differ in becomes a setting, or part of the variant if it is a key of
/// the policy.
std::vector<RateRow> arrange(const std::vector<const ConfiguredCell*>& cells);

/// The cells with results.
template <class Cells>
std::vector<const ConfiguredCell*> with_results(const Cells& cells) {
  std::vector<const ConfiguredCell*> chosen;
  for (const ConfiguredCell& cell : cells)
    if (cell.record->status == sweep::CellStatus::ok) chosen.push_back(&cell);
  return chosen;
}

/// The variant without the changes that the sweep made to the policy.
std::string unchanged_variant(const PolicyCells& policy);

/// The differences of a row's policies beside policy and host memory, in sentences.
std::vector<std::string> remarks_on(const RateRow& row);

}  // namespace analysis
