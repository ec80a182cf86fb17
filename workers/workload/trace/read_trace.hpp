#pragma once
#include <string>
#include <vector>

#include "workers/engine/base/clock.hpp"
#include "workers/workload/trace/session.hpp"

namespace workload {

/// Reads a file in the format of docs/traces.md, plain or .gz. Throws engine::InputError, at file,
/// line and turn, for what it does not allow.
TraceSet read_trace(const std::string& path);

/// When each job of a trace begins, in order of time; or the times of a file that has nothing else:
/// one number a line, seconds since the start of the cell. Empty lines and lines that start with
/// '#' are skipped.
std::vector<engine::Nanos> trace_arrivals(const std::string& path);

}  // namespace workload
