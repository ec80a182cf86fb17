#pragma once
#include <string>
#include <vector>

#include "analysis/compare/config.hpp"

namespace analysis {

// Cells arranged for comparing policies: `run`, `table` and `report` decide over the same rows.

/// Where policies compete: figures of one kind, on one GPU, with equal settings.
struct Place {
  std::string kind, gpu, settings;  // settings: "workload.gap_s=1", or empty
  friend bool operator==(const Place&, const Place&) = default;
};

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
  /// The same; where the sweep changed the policy, the only one that it made of it: of "fcfs" that
  /// is "fcfs+eviction=slru".
  const PolicyCells* named(std::string_view variant) const;
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

/// What the policies of a row differ in beside policy and host memory, in sentences.
std::vector<std::string> remarks_on(const RateRow& row);

}  // namespace analysis
