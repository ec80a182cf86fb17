#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "workers/backends/access_check.hpp"
#include "workers/backends/clock_tie.hpp"
#include "workers/backends/index_ranges.hpp"

namespace backends {

/// Which accesses of a cell are logged.
struct AccessLogOptions {
  IndexRanges layers = {}, heads = {}, steps = {};
  std::int64_t max_records = 20'000'000;  // before the step that would exceed it logging stops
  bool fence_writes = false;  // time a fence behind each write: it changes what is measured
};

/// One access, on the device's own clock.
struct Access {
  std::uint64_t time;  // when it was issued, ns
  std::uint32_t duration_ns;
  std::uint32_t block;
  std::uint32_t step;
  std::uint16_t row, layer, sm;
  std::uint8_t warp, kv_head, first_slot, n_slots;
  kernels::AccessKind kind;
  bool saturated;
};
static_assert(sizeof(Access) == 32, "20 million of them are kept");

/// What is left of an AccessRow when its step has been checked.
struct LoggedRow {
  std::uint64_t step;
  std::int32_t row, job, turn;
  bool decode;
  int context, new_tokens;
  std::int64_t read_slots;
};

/// From the first warp's begin to the last one's end, on the device's own clock, ns.
struct KernelRun {
  std::uint64_t step;
  int layer;
  kernels::AccessKernel kernel;
  std::uint64_t begin, end;
};

/// What a cell's kernels did to the KV cache: decides which steps are logged, checks what comes in,
/// and interleaves it. A backend fills it by begin_step() and, maybe on another thread, add().
class AccessLog {
 public:
  /// Throws engine::InputError when a chosen layer or head does not exist, or the model and the
  /// pool exceed what records hold.
  AccessLog(AccessLogOptions options, const AccessPattern& pattern, int layers, int num_blocks);

  const AccessLogOptions& options() const { return options_; }
  const AccessPattern& pattern() const { return pattern_; }
  const LoggedParts& parts() const { return parts_; }

  /// Whether the step is logged. Asked once for each step, in their order; quick, since a device
  /// waits for it. What it must leave is expect_accesses().
  bool admit(const engine::StepPlan& plan);
  /// The same, with what the step must leave; nothing when it is not logged.
  std::optional<ExpectedStep> begin_step(const engine::StepPlan& plan);
  /// Throws AccessMismatch.
  void add(const ExpectedStep& expected, std::span<const AccessSegment> segments);

  /// The cell's clock and the device's, read together.
  ClockTie& tie() { return tie_; }
  const ClockTie& tie() const { return tie_; }

  // What has been logged; by steps, and within a step by time.
  const std::vector<Access>& accesses() const { return accesses_; }
  const std::vector<LoggedRow>& rows() const { return rows_; }
  const std::vector<KernelRun>& runs() const { return runs_; }
  /// The first step that was to be logged and, by max_records, was not.
  std::optional<std::uint64_t> stopped_at() const { return stopped_at_; }

 private:
  std::int64_t records_of(std::int64_t of_a_head) const;
  void add_rows(const ExpectedStep& expected);
  void add_runs(const ExpectedStep& expected, std::span<const AccessSegment> segments);
  void add_accesses(const ExpectedStep& expected, std::span<const AccessSegment> segments);

  AccessLogOptions options_;
  AccessPattern pattern_;
  LoggedParts parts_;
  std::int64_t promised_ = 0;  // records of the steps so far
  std::optional<std::uint64_t> stopped_at_;
  ClockTie tie_;
  std::vector<Access> accesses_;
  std::vector<LoggedRow> rows_;
  std::vector<KernelRun> runs_;
};

/// A backend's side: fills an access log while steps run.
class AccessLogger {
 public:
  virtual ~AccessLogger() = default;
  /// The cell's clock, borrowed: times are told on it. Read together with the kernels' own at once,
  /// every second and at the end.
  virtual void use_clock(const engine::Clock& cell) = 0;
  /// Everything logged, when all buffers are empty. Throws AccessMismatch.
  virtual const AccessLog& finish() = 0;
  /// Steps that waited for a free buffer, and how long in all.
  virtual int waits() const = 0;
  virtual engine::Nanos waited() const = 0;
};

}  // namespace backends
