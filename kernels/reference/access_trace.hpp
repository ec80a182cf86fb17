#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "kernels/access_log.hpp"

namespace kernels::reference {

/// Segments of a step, in the order in which they were started.
struct AccessSegments {
  std::vector<SegmentHeader> headers;
  std::vector<AccessRecord> records;  // records of header i behind those of header i - 1

  void clear() {
    headers.clear();
    records.clear();
  }
};

/// The access log of kernels on the host. `time`, in nanoseconds, serves as both `clock` and `time`
/// of a segment.
class AccessTrace {
 public:
  using Time = std::function<std::uint64_t()>;

  /// `heads[h]`: whether head h is logged.
  AccessTrace(Time time, std::vector<bool> heads);

  /// Logs what follows to `segments`. `prefilled[r]`: whether row r of the batch is prefilled. Both
  /// are borrowed.
  void begin_step(std::uint64_t step, AccessSegments& segments,
                  std::span<const std::uint8_t> prefilled);
  void begin(AccessKernel kernel, int layer, int cta);
  void end();

  bool prefills(int row) const { return prefilled_[static_cast<std::size_t>(row)] != 0; }
  bool logs_head(int head) const { return heads_[static_cast<std::size_t>(head)]; }
  std::uint64_t now() const { return time_(); }

  /// Slots of one head in one block.
  struct Slots {
    std::int64_t block;
    int kv_head;
    int first, count;
    int row;
  };
  /// Logs a read that was issued at `issued` and has completed now.
  void read(AccessKind kind, const Slots& slots, std::uint64_t issued);
  /// Logs a write that was issued at `issued`; its duration is 0.
  void wrote(AccessKind kind, const Slots& slots, std::uint64_t issued);

 private:
  void add(AccessKind kind, const Slots& slots, std::uint64_t issued, std::uint64_t until);

  Time time_;
  std::vector<bool> heads_;
  AccessSegments* to_ = nullptr;
  std::uint16_t step_ = 0;
  std::span<const std::uint8_t> prefilled_;
};

/// Template argument of the kernels that access KV: logs nothing and generates no code.
struct NoTrace {
  static constexpr bool kOn = false;
};

/// Template argument: logs the accesses of the layer's kernel. For attention, `row` is the row of
/// the batch that it computes.
struct Traced {
  static constexpr bool kOn = true;
  AccessTrace& trace;
  int row = 0;
};

}  // namespace kernels::reference
