#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "workers/engine/base/clock.hpp"

namespace workload {

/// All functions return the arrival time of each job, counted from the start of the cell and never
/// decreasing. They throw engine::InputError for values that cannot describe a stream of arrivals.

/// The first `count` arrivals of a Poisson process. The intervals are those of CPython's
/// `random.Random(seed).expovariate(rate_per_s)`, summed as doubles in seconds; the first job
/// arrives after the first interval.
std::vector<engine::Nanos> poisson_arrivals(double rate_per_s, std::int64_t seed,
                                            std::size_t count);

/// All arrivals of the same process within the first `window_s` seconds. May be empty.
std::vector<engine::Nanos> poisson_arrivals_in_window(double rate_per_s, std::int64_t seed,
                                                      double window_s);

/// All jobs arrive at the start.
std::vector<engine::Nanos> closed_batch(std::size_t count);

/// Arrivals recorded in a text file, plain or .xz. The first line with content selects one of three
/// formats. Empty lines and lines that start with '#' are skipped.
///  * One number per line: seconds since the start of the cell.
///  * CSV with a header that names a column `t_s` (seconds since the start) or TIMESTAMP (date and
///    time as in the Azure LLM inference traces, counted from the first row).
///  * JSON lines with a field "t_s" (seconds since the start) or "timestamp" (milliseconds, as in
///    the Mooncake traces). Other fields are ignored.
std::vector<engine::Nanos> trace_arrivals(const std::string& path);

}  // namespace workload
