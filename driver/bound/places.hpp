#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "driver/plan/plan.hpp"
#include "sweeps/archive/reader.hpp"
#include "workers/bounds/cell_bound.hpp"

namespace driver {

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
  std::set<std::string> of_policies;
};

/// In plan order, from the selected cells that run. Where an override makes the workload of some
/// policies another one, they have a place of their own.
std::vector<Place> places_of(const std::vector<Group>& groups);
std::vector<Group> groups_of(const Plan& plan);

/// Mean over the seeds of each bound: the mean of lower bounds is a lower bound of the mean. A part
/// that a seed lacks is left out.
bounds::MeanBound mean_bound(const Place& place);
/// The same of most_hits.
double mean_most_hits(const Place& place);

/// The settings of a cell that belong to its policy, or those that do not.
std::string settings(const PlannedCell& planned, const std::set<std::string>& of_policies,
                     bool policy);

/// What the turns of a cell found cached when they were first admitted.
struct CacheUse {
  double hits = 0;                 // part of the prompt tokens
  double missed_blocks = 0;        // whole blocks of prompts before the last token
  double least_missed_blocks = 0;  // by MIN, with the turns served in the same order
  double compulsory_blocks = 0;    // of these, those that no turn had filled before
};

/// Of the result with this key; empty where the archive lacks its turns. `blocks`: of its
/// workload. Throws sweep::ArchiveDamaged.
std::optional<CacheUse> cache_use_of(sweep::ArchiveReader& archive, const std::string& key,
                                     const worker::ExperimentConfig& config,
                                     const bounds::TurnBlocks& blocks);

}  // namespace driver
