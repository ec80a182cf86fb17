#pragma once
#include "sweeps/tables/result.hpp"
#include "workers/backends/access_log.hpp"

namespace worker {

/// Adds the tables of accesses to the cell, with times on the cell's clock, and figures and a note
/// about the log. Throws the errors of `logger`'s checks.
void add_access_log(sweep::CellResult& result, backends::AccessLogger& logger);

}  // namespace worker
