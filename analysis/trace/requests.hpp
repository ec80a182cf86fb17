#pragma once
#include <iosfwd>

#include "sweeps/tables/result.hpp"

namespace analysis {

/// The JSON lines (jsonl.hpp) of requests: a record for every turn in order of their ends, then a
/// job record for every job.
void write_requests(const sweep::CellResult& result, std::ostream& out);

}  // namespace analysis
