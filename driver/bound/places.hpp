#pragma once
#include <set>
#include <string>
#include <vector>

#include "driver/plan/plan.hpp"
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

}  // namespace driver
