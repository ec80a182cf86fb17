#pragma once
#include "sweeps/result.hpp"
#include "workers/backends/access_log.hpp"
#include "workers/backends/copy_log.hpp"

namespace worker {

/// Gives the cell its tables of accesses, with times on the cell's own axis, and figures and a note
/// on what the log holds. Throws what `logger` met when it checked the log.
void add_access_log(sweep::CellResult& result, backends::AccessLogger& logger);

/// Gives the cell its table of copies, of `bytes` bytes each.
void add_copy_log(sweep::CellResult& result, const backends::CopyLog& log,
                  sweep::HostMemoryClass memory, std::int64_t bytes);

}  // namespace worker
