#pragma once
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "analysis/ranking/rating.hpp"
#include "analysis/text/text_table.hpp"

namespace analysis {

/// The policies at one arrival rate.
struct PolicyTableRow {
  std::string jps;
  std::vector<Rated> entries;  // in the order of the table's variants; no values: no result
  std::vector<Tail> tails;     // of each entry
};

/// Arrival rates by policies at one place, in one figure.
struct PolicyTable {
  Place place;
  std::string figure, unit;
  std::vector<std::string> variants;
  std::vector<PolicyTableRow> rows;
  std::vector<std::string> sources;  // sources of the published values shown
  std::vector<std::string> remarks;  // remarks_on() the rows
};

/// Tables in the order of their first rows.
std::vector<PolicyTable> policy_tables(std::span<const RateRow> rows, const std::string& figure,
                                       std::span<const Published> published,
                                       const CellBounds& bounds = {});

/// Rates and what is told of each by policies, as print_policy_tables() prints it.
Grid grid_of(const PolicyTable& table);

/// Text has a table with a heading that says whether its figures are modelled or
/// measured, and below the last one what the marks mean; CSV has a row for each entry of all
/// tables.
void print_policy_tables(std::span<const PolicyTable> tables, GridFormat format, std::ostream& out);

}  // namespace analysis
