#pragma once
#include <functional>
#include <memory>

#include "workers/backends/cuda/handles.hpp"
#include "workers/engine/clock.hpp"

namespace backends::cuda {

/// When events of a device happened, on a clock of the host.
///
/// It rests on events that the host records on an idle stream and watches until they are reached:
/// they happened in between. Of several the one that was watched for the shortest time counts, in
/// the middle of that time.
class EventClock {
 public:
  struct Reference {
    Event event;
    engine::Nanos host{0};    // when it happened
    engine::Nanos window{0};  // within half of this on either side
  };
  explicit EventClock(std::function<engine::Nanos()> now) : now_(std::move(now)) {}

  /// What events recorded from here on are to be told by. A new one every second: times between
  /// events are floating-point milliseconds, which lose microseconds when they are long.
  std::shared_ptr<const Reference> reference();

  /// Of an event that was reached, and recorded after `reference` was asked for.
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
