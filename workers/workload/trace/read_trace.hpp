#pragma once
#include <string>
#include <vector>

#include "workers/engine/base/clock.hpp"
#include "workers/workload/trace/session.hpp"

namespace workload {

/// Reads a file in the format of docs/traces.md, plain or .gz. Throws engine::InputError, at file,
/// line and turn, for what it does not allow.
TraceSet read_trace(const std::string& path);

/// The arrival times of jobs, in ascending order. The file is a trace, or a list of these times:
/// one number a line, in seconds since the start of the cell. Empty lines and lines that start with
/// '#' are skipped.
std::vector<engine::Nanos> trace_arrivals(const std::string& path);

}  // namespace workload
