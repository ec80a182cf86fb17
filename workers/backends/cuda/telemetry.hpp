#pragma once
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "workers/backends/cuda/nvml.hpp"
#include "workers/engine/clock.hpp"

namespace backends {

struct TelemetryRow {
  double t = 0;  // seconds since the sampler started
  NvmlSample sample;
};

/// Takes a sample at once, whatever follows, and then every period, on a thread of its own, until
/// it is stopped. A sample that throws DeviceError is left out.
class TelemetrySampler {
 public:
  TelemetrySampler(std::function<NvmlSample()> take, engine::Nanos period);
  ~TelemetrySampler();
  TelemetrySampler(const TelemetrySampler&) = delete;
  TelemetrySampler& operator=(const TelemetrySampler&) = delete;

  /// Ends sampling; the rows in order of time.
  std::vector<TelemetryRow> stop();

 private:
  void run();

  std::function<NvmlSample()> take_;
  engine::Nanos period_;
  engine::WallClock clock_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;               // guarded by mutex_
  std::vector<TelemetryRow> rows_;  // the thread's until it has ended
  std::thread thread_;
};

}  // namespace backends
