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

}  // namespace workload
