#pragma once
#include <cstdint>
#include <vector>

#include "workers/engine/base/clock.hpp"

namespace backends {

/// Converts a device's nanoseconds to the cell's clock: by linear interpolation between ties,
/// instants at which both clocks were read. One tie is not enough, because two clocks drift apart
/// by some microseconds per second.
class ClockTie {
 public:
  /// Adds a tie, later than all earlier ones.
  void add(std::uint64_t device_ns, engine::Nanos host);
  bool empty() const { return ties_.empty(); }
  engine::Nanos last_host() const { return ties_.back().host; }

  /// Requires at least one tie. Extrapolates the nearest line outside the ties.
  engine::Nanos to_host(std::uint64_t device_ns) const;
  /// The largest distance of a tie from the line between its neighbors: a bound on the error of a
  /// time between two ties. Zero with fewer than three ties.
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
