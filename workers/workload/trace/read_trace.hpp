#pragma once
#include <optional>
#include <string>

#include "workers/engine/base/clock.hpp"
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
/// The format that a file begins like; empty optional for any other file.
std::optional<std::string> known_format(const std::string& path);

/// When each session of a trace begins, in order of time; or the times of a file that has nothing
/// else, in which empty lines and lines that start with '#' are skipped:
///  * One number per line: seconds since the start of the cell.
///  * CSV with a header that names a column `t_s` (seconds since the start) or TIMESTAMP (date and
///    time as in the Azure LLM inference traces, counted from the first row).
///  * JSON lines with a field "t_s" (seconds since the start) or "timestamp" (milliseconds, as in
///    the Mooncake traces).
std::vector<engine::Nanos> trace_arrivals(const std::string& path);

}  // namespace workload
