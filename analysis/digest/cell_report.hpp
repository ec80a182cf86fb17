#pragma once
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sweeps/spec/cell.hpp"
#include "sweeps/tables/result.hpp"

namespace analysis {

/// Everything that is reported about one cell, except its tables.
struct CellReport {
  int index = 0;
  std::string key;  // SHA-256 of the configuration; may be empty
  std::string label;
  sweep::CellStatus status = sweep::CellStatus::planned;
  std::string reason;  // set for every status except ok
  sweep::AxisValues axes;
  std::optional<sweep::Value> policy, jps;  // set even if they are no axes
  int repeat = 0;
  std::int64_t seed = 0;
  std::vector<sweep::Figure> figures;
  std::vector<sweep::Note> notes;
};

/// The report of a cell that did not run, with the status and reason of its plan.
CellReport report_of(const sweep::Cell& cell, const std::string& key, const std::string& label);

/// The value of this figure; NaN if the cell has no figure of this name.
double figure_value(const CellReport& report, std::string_view name);

/// Prints a row per cell: index in the plan, policy, jps and the axes that vary, then the main
/// figures. Status and reason are shown if some cell is not ok. With repeats, a second table has
/// the means over the repeats that are ok. Excluded cells are in neither table: a line for each
/// reason counts them.
void print_summary(std::span<const CellReport> cells, std::ostream& out);

}  // namespace analysis
