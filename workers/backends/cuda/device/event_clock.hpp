#pragma once
#include <functional>
#include <memory>

#include "workers/backends/cuda/device/handles.hpp"
#include "workers/engine/base/clock.hpp"

namespace backends::cuda {

/// Converts the times of device events to a clock of the host.
///
/// A reference is an event that the host records on an idle stream and polls until it is reached,
/// so that it happened within that interval. Of several the one with the shortest interval is used,
/// at the middle of its interval.
class EventClock {
 public:
  struct Reference {
    Event event;
    engine::Nanos host{0};    // time of the event
    engine::Nanos window{0};  // accurate to half of this in either direction
  };
  explicit EventClock(std::function<engine::Nanos()> now) : now_(std::move(now)) {}

  /// The reference for events recorded after this call. It is renewed every second, because times
  /// between events are floating-point milliseconds, which lose microseconds when they are long.
  std::shared_ptr<const Reference> reference();

  /// Time of an event that was reached, and that was recorded after `reference` was obtained.
  static engine::Nanos time_of(const Reference& reference, const Event& event);

  /// The largest window of all references so far.
  engine::Nanos largest_window() const { return largest_; }

 private:
  void renew();

  std::function<engine::Nanos()> now_;
  Stream stream_{Stream::Priority::high};
  std::shared_ptr<const Reference> reference_;
  engine::Nanos largest_{0};
};

}  // namespace backends::cuda
