#pragma once
#include <string>

#include "workers/workload/trace/session.hpp"

namespace workload {

/// Reads a recorded workload: a file, plain or compressed, or a folder of files. `format` is one of
/// trace_formats(), or "auto", which looks at what the file begins with. Throws
/// engine::InputError, at file and line, for what cannot be replayed.
TraceSet read_trace(const std::string& path, const std::string& format = "auto");

/// Formats by name, without "auto".
const std::vector<std::string>& trace_formats();

}  // namespace workload
