#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "workers/backends/access_log_options.hpp"
#include "workers/backends/expected_accesses.hpp"
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

/// One access, on the device's own clock.
struct Access {
  std::uint64_t time;  // time of issue, ns
  std::uint32_t duration_ns;
  std::uint32_t block;
  std::uint32_t step;
  std::uint16_t row, layer, sm;
  std::uint8_t warp, kv_head, first_slot, n_slots;
  kernels::AccessKind kind;
  bool saturated;
};
static_assert(sizeof(Access) == 32, "20 million of them are kept");

/// The part of an AccessRow that is kept after its step was checked.
struct LoggedRow {
  std::uint64_t step;
  std::int32_t row, job, turn;
  bool decode;
  int context, new_tokens;
  std::int64_t read_slots;
};

/// The duration of a kernel, from the start of its first warp to the end of its last, in ns of the
/// device's own clock.
struct KernelRun {
  std::uint64_t step;
  int layer;
  kernels::AccessKernel kernel;
  std::uint64_t begin, end;
};

/// Log of the accesses of a cell's kernels to the KV cache: decides which steps are logged, counts
/// the records that arrive, and interleaves them. A backend fills it with admit() and, possibly on
/// another thread, add().
class AccessLog {
 public:
  /// Throws engine::InputError when a chosen layer or head does not exist, or when the model or the
  /// pool exceeds the range of the record fields.
  AccessLog(AccessLogOptions options, const AccessPattern& pattern, int layers, int num_blocks);

  const AccessLogOptions& options() const { return options_; }
  const AccessPattern& pattern() const { return pattern_; }
  const LoggedParts& parts() const { return parts_; }

  /// Whether the step is logged. Must be called once for each step, in order. Fast, since a device
  /// waits for it. expect_accesses() computes the expected records.
  bool admit(const engine::StepPlan& plan);
  /// Throws AccessMismatch.
  void add(const ExpectedStep& expected, std::span<const AccessSegment> segments);

  /// The tie between the cell's clock and the device's.
  ClockTie& tie() { return tie_; }
  const ClockTie& tie() const { return tie_; }

  // The log, ordered by step and within a step by time.
  const std::vector<Access>& accesses() const { return accesses_; }
  const std::vector<LoggedRow>& rows() const { return rows_; }
  const std::vector<KernelRun>& runs() const { return runs_; }
  /// The first step that was not logged because of max_records.
  std::optional<std::uint64_t> stopped_at() const { return stopped_at_; }

 private:
  std::int64_t records_of(std::int64_t of_a_head) const;
  void add_rows(const ExpectedStep& expected);
  void add_runs(const ExpectedStep& expected, std::span<const AccessSegment> segments);
  void add_accesses(const ExpectedStep& expected, std::span<const AccessSegment> segments);

  AccessLogOptions options_;
  AccessPattern pattern_;
  LoggedParts parts_;
  std::int64_t promised_ = 0;  // expected records of the steps so far
  std::optional<std::uint64_t> stopped_at_;
  ClockTie tie_;
  std::vector<Access> accesses_;
  std::vector<LoggedRow> rows_;
  std::vector<KernelRun> runs_;
};

/// The backend's part of access logging: fills the log while steps run.
class AccessLogger {
 public:
  virtual ~AccessLogger() = default;
  /// Sets the cell's clock, borrowed: logged times are converted to it. Both clocks are read
  /// together at once, every second and at the end.
  virtual void use_clock(const engine::Clock& cell) = 0;
  /// The whole log, once all buffers are empty. Throws AccessMismatch.
  virtual const AccessLog& finish() = 0;
  /// Number of steps that waited for a free buffer, and total time of the waits.
  virtual int waits() const = 0;
  virtual engine::Nanos waited() const = 0;
};

}  // namespace backends
