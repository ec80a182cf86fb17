#pragma once
#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "analysis/compare/config.hpp"
#include "analysis/compare/published.hpp"

namespace analysis {

/// Selects cells: for every key, the listed values as texts, one of which a cell must have. "-"
/// matches a cell that lacks the key.
using CellFilter = std::map<std::string, std::vector<std::string>>;

bool matches(const ConfiguredCell& cell, const CellFilter& filter);

/// One number of a claim: the metric of some cells, its ratio to the metric of others, or the share
/// of what these gain over a third kind.
struct ClaimPoint {
  std::string name;  // "jps-3"; empty in a claim with a single number
  CellFilter cells, base;
  CellFilter from;  // not empty: the number is what `cells` gain over these, by what `base` does
  std::vector<std::string> varied;         // keys in which `cells`, `base` and `from` may differ
  bool is_ratio = false;                   // divide by the metric of `base`
  std::size_t group_size = 0;              // cells that a group must have; 0: any number
  double published = sweep::kNotObserved;  // the same number in the source
  double low = -std::numeric_limits<double>::infinity();  // the claim holds from low to high,
  double high = std::numeric_limits<double>::infinity();  // inclusive
};

/// A statement of a publication that archived cells reproduce or not.
struct Claim {
  std::string id, set;
  std::string says, source;
  std::string metric;       // see metrics.hpp
  std::string experiment;   // the file of sweeps/experiments that runs the cells; may be empty
  bool pooled = false;      // compute the metric over all matching cells of a repeat together
  std::size_t repeats = 3;  // needed for a verdict; 1 if arrivals do not affect the number
  std::string draws;        // the axis whose values are the repeats; empty: the seeds of arrivals
  std::string own_numbers;  // of the source that contradict what it says, and where it has them
  CellFilter assumed;       // cells with a cost model that takes the claimed quantity as input
  std::vector<ClaimPoint> points;
};

/// Reads a file of sweeps/claims, in the order written. If a point has no published value, looks it
/// up in `published`. Throws sweep::SpecError.
std::vector<Claim> load_claims(const std::string& path, std::span<const Published> published);

}  // namespace analysis
