#pragma once
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "analysis/compare/config.hpp"
#include "analysis/compare/published.hpp"
#include "analysis/text/export_grid.hpp"

namespace analysis {

/// One arrival rate under one policy: the mean over the repeats that have a result.
struct PolicyEntry {
  std::string variant;  // "fcfs", "cpu_offload-16G"
  std::size_t repeats = 0;
  double mean = sweep::kNotObserved;
  double half_interval =
      sweep::kNotObserved;  // half of the bootstrap interval, 95 %; NaN below two repeats
  double ratio = sweep::kNotObserved;  // to fcfs
  bool best = false;                   // in its row
  double published = sweep::kNotObserved;
};

struct PolicyRow {
  std::string jps;
  std::vector<PolicyEntry> entries;  // in the order of the table's variants; repeats 0: no result
};

/// Arrival rates by policies on one card, with one backend and equal values of every further axis.
struct PolicyTable {
  std::string gpu, backend, settings;  // settings: "engine.block_size=32", or empty
  std::string metric, unit;
  std::vector<std::string> variants;
  std::vector<PolicyRow> rows;
  std::vector<std::string> sources;  // sources of the published values shown
  std::vector<std::string> remarks;  // what the reader must know to compare the columns
};

/// Tables in plan order. Higher is better for rates, lower for all other metrics.
std::vector<PolicyTable> policy_tables(std::span<const ConfiguredCell> cells,
                                       const std::string& metric,
                                       std::span<const Published> published);

/// Text and Markdown have a table with a heading that says whether its figures are modelled or
/// measured; CSV has a row for each entry of all tables.
void print_policy_tables(std::span<const PolicyTable> tables, GridFormat format, std::ostream& out);

}  // namespace analysis
