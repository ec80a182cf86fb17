#pragma once
#include <string>

#include "workers/workload/trace/session.hpp"

namespace workload {

/// Reads a recorded workload: a file, plain or compressed, or a folder of files. `format` is one of
/// trace_formats(), or "auto", which looks at what the file begins with. Throws
/// engine::InputError, at file and line, for what cannot be replayed. `tokenizer`: the vocabulary
/// that counts the tokens of texts; empty: an estimate from bytes.
TraceSet read_trace(const std::string& path, const std::string& format = "auto",
                    const std::string& tokenizer = "");

/// Formats by name, without "auto".
const std::vector<std::string>& trace_formats();

}  // namespace workload
