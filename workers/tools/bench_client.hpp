#pragma once
#include <cstddef>

namespace worker {

struct ClientCost {
  std::size_t streams = 0;
  std::size_t token_events = 0;
  std::size_t gaps = 0;                        // between token events of a stream
  double us_per_event = 0;                     // processor time of the client
  double late_median_ms = 0, late_p99_ms = 0;  // sending behind the intended time
};

/// What the client of backend server costs by itself: 1,000 streams of 50 tokens, one begun each
/// millisecond, from a process that answers at once. Throws engine::InputError without libcurl or a
/// free port.
ClientCost measure_client();

}  // namespace worker
