#pragma once
#include <functional>
#include <thread>
#include <vector>

#include "workers/backends/cuda/device/nvml.hpp"
#include "workers/engine/base/clock.hpp"

namespace backends {

struct TelemetryRow {
  double t = 0;  // seconds since the sampler started
  NvmlSample sample;
};

/// Takes a first sample immediately and further ones every period, on its own thread, until it is
/// stopped. Omits samples that throw DeviceError.
class TelemetrySampler {
 public:
  TelemetrySampler(std::function<NvmlSample()> take, engine::Nanos period);

  /// Ends sampling and returns the rows in order of time.
  std::vector<TelemetryRow> stop();

 private:
  void run(const std::stop_token& stop);

  std::function<NvmlSample()> take_;
  engine::Nanos period_;
  engine::WallClock clock_;
  std::vector<TelemetryRow> rows_;  // owned by the thread until it ends
  std::jthread thread_;
};

}  // namespace backends
