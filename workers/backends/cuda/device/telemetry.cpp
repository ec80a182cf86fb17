#include "workers/backends/cuda/device/telemetry.hpp"

#include <utility>

#include "workers/backends/cuda/device/errors.hpp"

namespace backends {

TelemetrySampler::TelemetrySampler(std::function<NvmlSample()> take, engine::Nanos period)
    : take_(std::move(take)), period_(period), thread_([this] { run(); }) {}

TelemetrySampler::~TelemetrySampler() {
  if (thread_.joinable()) stop();
}

std::vector<TelemetryRow> TelemetrySampler::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_all();
  if (thread_.joinable()) thread_.join();
  return std::move(rows_);
}

void TelemetrySampler::run() {
  std::unique_lock lock(mutex_);
  engine::Nanos due{0};
  do {
    lock.unlock();
    try {
      const double t = engine::to_seconds(clock_.now());
      rows_.push_back({t, take_()});
    } catch (const DeviceError&) {
      // A card that does not answer leaves a gap in the samples; the steps of the cell show the
      // effect.
    }
    lock.lock();
    due += period_;  // due times are multiples of the period, so that samples do not drift
    stopped_.wait_for(lock, due - clock_.now(), [this] { return stop_; });
  } while (!stop_);
}

}  // namespace backends
