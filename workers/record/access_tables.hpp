#pragma once
#include "sweeps/tables/result.hpp"
#include "workers/backends/access_log.hpp"
#include "workers/backends/copy_log.hpp"

namespace worker {

/// Adds the tables of accesses to the cell, with times on the cell's clock, and figures and a note
/// about the log. Throws the errors of `logger`'s checks.
void add_access_log(sweep::CellResult& result, backends::AccessLogger& logger);

/// Adds the table of copies to the cell, with `bytes` bytes per copy.
void add_copy_log(sweep::CellResult& result, const backends::CopyLog& log,
                  sweep::HostMemoryClass memory, std::int64_t bytes);

}  // namespace worker
