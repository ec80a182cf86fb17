#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "workers/engine/clock.hpp"

namespace workload {

/// All functions return when each job arrives, counted from the start of the cell and never
/// decreasing. They throw engine::InputError for values that cannot describe a stream of arrivals.

/// The first `count` arrivals of a Poisson process. The intervals are those that CPython's
/// `random.Random(seed).expovariate(rate_per_s)` yields, summed as doubles in seconds; the first
/// job arrives after the first interval.
std::vector<engine::Nanos> poisson_arrivals(double rate_per_s, std::int64_t seed,
                                            std::size_t count);

/// The same process, all its arrivals within the first `window_s` seconds. May be none.
std::vector<engine::Nanos> poisson_arrivals_in_window(double rate_per_s, std::int64_t seed,
                                                      double window_s);

/// All jobs at the start.
std::vector<engine::Nanos> closed_batch(std::size_t count);

/// Arrivals recorded in a text file, plain or .xz, in one of three forms, told apart by the first
/// line that says something (empty lines, and lines that open with '#', say nothing):
///  * a number of seconds since the start of the cell on every line;
///  * CSV with a header that names a column `t_s` (seconds since the start) or TIMESTAMP (date and
///  time, as in
///    the Azure LLM inference traces, counted from the first row);
///  * JSON lines with a field "t_s" (seconds since the start) or "timestamp" (milliseconds since
///  the
///    start, as in the Mooncake traces). Other fields are not looked at.
std::vector<engine::Nanos> trace_arrivals(const std::string& path);

}  // namespace workload
