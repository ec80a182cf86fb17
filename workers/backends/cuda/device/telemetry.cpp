#include "workers/backends/cuda/device/telemetry.hpp"

#include <condition_variable>
#include <mutex>
#include <utility>

#include "workers/backends/cuda/device/errors.hpp"

namespace backends {

TelemetrySampler::TelemetrySampler(std::function<NvmlSample()> take, engine::Nanos period)
    : take_(std::move(take)),
      period_(period),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

std::vector<TelemetryRow> TelemetrySampler::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  return std::move(rows_);
}

void TelemetrySampler::run(const std::stop_token& stop) {
  std::mutex mutex;  // nothing but the stop ends the wait
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  engine::Nanos due{0};
  do {
    try {
      const double t = engine::to_seconds(clock_.now());
      rows_.push_back({t, take_()});
    } catch (const DeviceError&) {
      // A card that does not answer leaves a gap in the samples; the steps of the cell show the
      // effect.
    }
    due += period_;  // due times are multiples of the period, so that samples do not drift
    stopped.wait_for(lock, stop, due - clock_.now(), [] { return false; });
  } while (!stop.stop_requested());
}

}  // namespace backends
