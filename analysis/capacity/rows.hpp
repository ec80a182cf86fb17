#pragma once
#include <map>
#include <string>
#include <vector>

#include "analysis/capacity/rules.hpp"
#include "analysis/text/text_table.hpp"
#include "sweeps/archive/reader.hpp"

namespace analysis {

// The metrics of the front: what a user sees, and what the card does.
inline const std::string kInteractivityP90 = "interactivity_p90", kThroughput = "output_tok_per_s";

/// A cell of a row with what its limits are about.
struct CapacityCell {
  const sweep::CellRecord* record;
  std::map<std::string, double> metrics;  // of a cell with a result
  /// By the energy of its GPU, of which only cells that ran on one know; NaN of others.
  double measured_watts() const;
  double measured_j_per_token() const;
};

/// All loads of one GPU, policy, host memory, ...
struct CapacityPlace {
  std::string name;
  sweep::AxisValues axes;  // without load and seed
  std::string gpu, policy;
  std::map<Question, CapacityCell> cells;
};

/// Metrics of cells, which are read once.
using KnownMetrics = std::map<std::string, std::map<std::string, double>>;  // by key

/// The cells by place, in the order of the records, without kept ones. `archive` has the tables of
/// those with a result, under their own index; null: none has one.
std::vector<CapacityPlace> capacity_places(const CapacityRules& rules,
                                           const std::vector<sweep::CellRecord>& records,
                                           sweep::ArchiveReader* archive, KnownMetrics& known);

/// The largest load that a place serves within an objective.
struct Capacity {
  const CapacityPlace* place = nullptr;
  const Slo* slo = nullptr;
  RowSearch search{};
  std::string problem{};  // why there will be no answer: its cell failed, or cannot run
  Estimate load{};        // the mean of the seeds' capacities; NaN: below the least load
  // Where the next load breaks the objective:
  const Limit* binds = nullptr;  // the limit that most seeds miss there; null: none
  std::size_t misses = 0;        // how many
  double next = sweep::kNotObserved, value = sweep::kNotObserved;  // means: the load, the metric
  /// Whether more results would change nothing, and whether there is an answer.
  bool is_over() const { return search.is_over() || !problem.empty(); }
  bool has_answer() const { return search.is_over() && problem.empty(); }
  /// Whether a seed misses at the least load, and a smaller one might not.
  bool is_below_least(const CapacityRules& rules) const;
  /// "even 1 misses ttft_p90 <= 2 s: 3.1 s", "meets all limits at 512: raise --most", or nothing
  std::string verdict(const CapacityRules& rules) const;
  /// "seed 1 misses at 9 and meets again at 12": loads that meet above one that does not.
  std::string not_monotone(const CapacityRules& rules) const;
};

std::vector<Capacity> capacities_of(const CapacityRules& rules,
                                    const std::vector<CapacityPlace>& places);

/// Why so many jobs are never in progress together; empty if they are.
std::string lack_of_jobs(double live, double jobs);

/// "84.2 (79.1 to 89.6)"
std::string estimate_text(const Estimate& estimate);

/// "2.661 s at 88 (3 of 3)": where the next load breaks the objective, of how many seeds.
std::string next_step(const Capacity& capacity);

// Tables to read, and for programs: there a column has numbers or texts alone, its name says the
// unit, and what is not known is empty.

Grid capacity_grid(const CapacityRules& rules, const std::vector<Capacity>& capacities,
                   GridFormat format = GridFormat::text);

/// A limit at a load: searched on one backend, confirmed on another.
struct Confirmation {
  const CapacityPlace* place;
  std::size_t load;
  const Limit* limit;
  Estimate searched, confirmed;
  double j_per_token;  // measured, on the other
};

/// `searched` and `confirmed` say whose figures they are: "MODELLED (sim)".
Grid confirm_grid(const CapacityRules& rules, const std::vector<Confirmation>& rows,
                  const std::string& searched, const std::string& confirmed, GridFormat format);

}  // namespace analysis
