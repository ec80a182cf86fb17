#pragma once
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "analysis/compare_config.hpp"
#include "analysis/export_grid.hpp"
#include "analysis/policy_table_published.hpp"

namespace analysis {

/// One arrival rate under one policy: the mean over the repeats that have a result.
struct PolicyEntry {
  std::string variant;  // "fcfs", "cpu_offload-16G"
  std::size_t repeats = 0;
  double mean = sweep::kNotObserved;
  double half_interval =
      sweep::kNotObserved;  // half of the bootstrap interval, 95 %; NaN below two repeats
  double ratio = sweep::kNotObserved;  // to fcfs
  bool best = false;                   // of its row
  double published = sweep::kNotObserved;
};

struct PolicyRow {
  std::string jps;
  std::vector<PolicyEntry> entries;  // in the order of the table's variants; repeats 0: no result
};

/// Arrival rates by policies on one card, all of one backend and equal in every further axis.
struct PolicyTable {
  std::string gpu, backend, settings;  // settings: "engine.block_size=32", or empty
  std::string metric, unit;
  std::vector<std::string> variants;
  std::vector<PolicyRow> rows;
  std::vector<std::string> sources;  // of published values that appear
  std::vector<std::string> remarks;  // what the reader must know to compare the columns
};

/// In plan order. Higher is better for rates, lower for the rest.
std::vector<PolicyTable> policy_tables(std::span<const ConfiguredCell> cells,
                                       const std::string& metric,
                                       std::span<const Published> published);

/// As text and Markdown a table with a heading that says whether its figures are modelled or
/// measured; as CSV a row for each entry of all tables.
void print_policy_tables(std::span<const PolicyTable> tables, GridFormat format, std::ostream& out);

}  // namespace analysis
