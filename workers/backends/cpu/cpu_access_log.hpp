#pragma once
#include <vector>

#include "kernels/reference/access_trace.hpp"
#include "workers/backends/access_log.hpp"
#include "workers/backends/background.hpp"

namespace backends {

/// The access log of a CpuBackend: kernels fill one of three buffers, and a thread empties them.
class CpuAccessLog final : public AccessLogger {
 public:
  /// Throws engine::InputError as AccessLog does.
  CpuAccessLog(const AccessLogOptions& options, const AccessPattern& pattern, int layers,
               int num_blocks)
      : log_(options, pattern, layers, num_blocks),
        trace_([this] { return time(); }, chosen_heads(log_)),
        ring_({}, [this](Buffer& buffer) { empty(buffer); }) {}

  /// The log of the step's kernels; null when the step is not logged. end_step() must follow.
  kernels::reference::AccessTrace* begin_step(const engine::StepPlan& plan) {
    constexpr engine::Nanos kSecond{1'000'000'000};
    if (cell_ && cell_->now() - log_.tie().last_host() > kSecond) tie_clocks();
    if (!log_.admit(plan)) return nullptr;
    ExpectedStep expected = expect_accesses(plan, log_.pattern());
    buffer_ = &ring_.take();
    buffer_->expected = std::move(expected);
    buffer_->segments.clear();
    buffer_->prefilled.clear();
    for (const AccessRow& row : buffer_->expected.rows) buffer_->prefilled.push_back(!row.decode);
    trace_.begin_step(plan.step, buffer_->segments, buffer_->prefilled);
    return &trace_;
  }
  /// Passes the step on, if it is logged. Throws AccessMismatch of this step or an earlier one.
  void end_step() {
    if (!buffer_) return;
    ring_.pass_on(*buffer_);
    buffer_ = nullptr;
  }
  bool logs_layer(int layer) const { return log_.options().layers.holds(layer); }

  void use_clock(const engine::Clock& cell) override {
    cell_ = &cell;
    tie_clocks();
  }
  const AccessLog& finish() override {
    ring_.finish();
    if (cell_) tie_clocks();
    return log_;
  }
  int waits() const override { return ring_.waits(); }
  engine::Nanos waited() const override { return ring_.waited(); }

 private:
  struct Buffer {
    ExpectedStep expected;
    std::vector<std::uint8_t> prefilled;  // by row
    kernels::reference::AccessSegments segments;
  };
  static std::vector<bool> chosen_heads(const AccessLog& log) {
    std::vector<bool> heads(static_cast<std::size_t>(log.pattern().kv_heads), false);
    for (const int head : log.parts().heads) heads[static_cast<std::size_t>(head)] = true;
    return heads;
  }
  void empty(const Buffer& buffer) {
    segments_.clear();
    const kernels::AccessRecord* records = buffer.segments.records.data();
    for (const kernels::SegmentHeader& header : buffer.segments.headers) {
      segments_.push_back({&header, records});
      records += header.count;
    }
    log_.add(buffer.expected, segments_);
  }
  /// Ties the reading of one clock to the middle of two readings of the other around it.
  void tie_clocks() {
    const engine::Nanos before = cell_->now();
    const std::uint64_t own = time();
    log_.tie().add(own, before + (cell_->now() - before) / 2);
  }
  std::uint64_t time() const { return static_cast<std::uint64_t>(clock_.now().count()); }

  engine::WallClock clock_;
  const engine::Clock* cell_ = nullptr;
  AccessLog log_;
  kernels::reference::AccessTrace trace_;
  Buffer* buffer_ = nullptr;             // buffer of the step being logged
  std::vector<AccessSegment> segments_;  // used by the thread
  BufferRing<Buffer> ring_;              // declared last: its thread uses the members above
};

}  // namespace backends
