#pragma once
#include <span>
#include <string>

#include "sweeps/archive/cells_table.hpp"
#include "sweeps/tables/result.hpp"

namespace analysis {

/// A cell of a trace page. Borrows both.
struct TracedCell {
  const sweep::CellRecord& cell;
  const sweep::CellResult& result;
};

/// The data of the trace viewer as JSON: {"kind":"trace","archive":name,"cells":[...]}. A cell has
/// its identity, its notes, and `deflated`: the JSON lines of its steps, events and requests
/// (analysis/trace/jsonl.hpp), packed().
///
/// Throws std::logic_error when the tables of a cell contradict each other.
std::string trace_page(const std::string& archive, std::span<const TracedCell> cells);

}  // namespace analysis
