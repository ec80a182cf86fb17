#pragma once
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sweeps/cell.hpp"
#include "sweeps/result.hpp"

namespace analysis {

/// What is told about one cell when it is over: all but its tables.
struct CellReport {
  int index = 0;
  std::string key;  // SHA-256 of the configuration; may be empty
  std::string label;
  sweep::CellStatus status = sweep::CellStatus::planned;
  std::string reason;  // of any status but ok
  std::vector<std::pair<std::string, sweep::Value>> axes;
  std::optional<sweep::Value> policy, jps;  // also where they are no axes
  int repeat = 0;
  std::int64_t seed = 0;
  std::vector<sweep::Figure> figures;
  std::vector<sweep::Note> notes;
};

/// A cell that did not run, with the status and reason of its plan.
CellReport report_of(const sweep::Cell& cell, const std::string& key);
/// A cell that ran, with what became of it.
CellReport report_of(const sweep::Cell& cell, const std::string& key,
                     const sweep::CellOutcome& outcome);

/// The value of this figure; NaN where the cell has none of this name.
double figure_value(const CellReport& report, std::string_view name);

/// One line of JSON per cell: index, key, label, status, reason, axes, repeat, seed, figures with
/// value and unit, notes. Throws std::system_error when the stream refuses a line.
void write_cells_jsonl(std::span<const CellReport> cells, std::ostream& out);

}  // namespace analysis
