#pragma once
#include <string>

#include "workers/workload/trace/session.hpp"

namespace workload {

/// Reads a file in the format of docs/traces.md, plain or .gz. Throws engine::InputError, at file,
/// line and turn, for what it does not allow.
TraceSet read_trace(const std::string& path);

}  // namespace workload
