#pragma once
#include <cstdint>
#include <vector>

#include "workers/engine/clock.hpp"

namespace backends {

/// Brings a device's nanoseconds to the cell's time axis: by instants at which both were read, and
/// straight lines between them. Two clocks drift apart by some microseconds a second, so one
/// instant would not do.
class ClockTie {
 public:
  /// Both read together, later than all before.
  void add(std::uint64_t device_ns, engine::Nanos host);
  bool empty() const { return ties_.empty(); }
  engine::Nanos last_host() const { return ties_.back().host; }

  /// At least one instant must be known. Outside of the instants the nearest line goes on.
  engine::Nanos to_host(std::uint64_t device_ns) const;
  /// How far an instant lies from the line between its neighbours, at most: what may be wrong with
  /// a time between two of them. Zero when there are fewer than three.
  engine::Nanos residual() const;

 private:
  struct Tie {
    std::uint64_t device;
    engine::Nanos host;
  };
  static engine::Nanos on_line(const Tie& a, const Tie& b, std::uint64_t device_ns);

  std::vector<Tie> ties_;
};

}  // namespace backends
