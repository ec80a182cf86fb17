#pragma once
#include <iosfwd>

#include "sweeps/tables/result.hpp"

namespace analysis {

/// Writes a cell's trace as JSON of the Trace Event Format, which ui.perfetto.dev and
/// chrome://tracing open: a track for the engine with its steps and counters, and one for each job
/// with the parts of its turns' times, which are placed in the order of the viewer's legend, since
/// their lengths are recorded and not their places. Times are microseconds from the cell's zero.
///
/// Throws std::system_error when a write fails.
void write_perfetto(const sweep::CellResult& result, std::ostream& out);

}  // namespace analysis
