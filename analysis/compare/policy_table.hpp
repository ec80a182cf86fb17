#pragma once
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "analysis/compare/answer.hpp"
#include "analysis/compare/published.hpp"
#include "analysis/text/export_grid.hpp"

namespace analysis {

/// One arrival rate under one policy: the mean over the repeats that have a result.
struct PolicyEntry {
  std::string variant;                         // "fcfs", "cpu_offload-16G"
  std::string dram;                            // "-": no host tier
  std::vector<const ConfiguredCell*> repeats;  // with a result; empty: none has
  BySeed values;                               // of the figure
  Estimate mean;
  Ratio ratio;                           // to fcfs
  Standing standing = Standing::absent;  // the better one, of several sizes of host memory
  double published = sweep::kNotObserved;
};

struct PolicyRow {
  std::string jps;
  std::vector<PolicyEntry> entries;  // in the order of the table's variants; no values: no result
};

/// Arrival rates by policies on one card, with one backend and equal values of every further axis.
struct PolicyTable {
  std::string gpu, backend, kind;  // kind: to_text(FiguresKind)
  std::string settings;            // "engine.block_size=32", or empty
  std::string metric, unit;
  std::vector<std::string> variants;
  std::vector<PolicyRow> rows;
  std::vector<std::string> sources;  // sources of the published values shown
  std::vector<std::string> remarks;  // what the reader must know to compare the columns
};

/// Tables in plan order.
std::vector<PolicyTable> policy_tables(std::span<const ConfiguredCell> cells,
                                       const std::string& metric,
                                       std::span<const Published> published);

/// One for each row and size of host memory with at least two contenders.
std::vector<Regime> regimes_of(std::span<const PolicyTable> tables);
std::vector<PolicyCells> policy_cells(std::span<const PolicyTable> tables);

/// Text and Markdown have a table with a heading that says whether its figures are modelled or
/// measured; CSV has a row for each entry of all tables.
void print_policy_tables(std::span<const PolicyTable> tables, GridFormat format, std::ostream& out);

}  // namespace analysis
