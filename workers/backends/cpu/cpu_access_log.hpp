#pragma once
#include <optional>
#include <vector>

#include "kernels/reference/access_trace.hpp"
#include "workers/backends/access_log.hpp"
#include "workers/backends/buffer_ring.hpp"

namespace backends {

/// The access log of a CpuBackend: kernels fill one of three buffers, a thread empties them.
class CpuAccessLog final : public AccessLogger {
 public:
  /// Throws engine::InputError as AccessLog does.
  CpuAccessLog(const AccessLogOptions& options, const AccessPattern& pattern, int layers,
               int num_blocks);

  /// Where the step's kernels log to; null when it is not logged. end_step() must follow.
  kernels::reference::AccessTrace* begin_step(const engine::StepPlan& plan);
  /// Hands the step on, if it is logged. Throws AccessMismatch, of this step or an earlier one.
  void end_step();
  bool logs_layer(int layer) const { return log_.options().layers.holds(layer); }

  void use_clock(const engine::Clock& cell) override;
  const AccessLog& finish() override;
  int waits() const override { return ring_.waits(); }
  engine::Nanos waited() const override { return ring_.waited(); }

 private:
  struct Buffer {
    ExpectedStep expected;
    std::vector<std::uint8_t> prefilled;  // by row
    kernels::reference::AccessSegments segments;
  };
  void empty(const Buffer& buffer);
  void tie_clocks();
  std::uint64_t time() const { return static_cast<std::uint64_t>(clock_.now().count()); }

  engine::WallClock clock_;
  const engine::Clock* cell_ = nullptr;
  AccessLog log_;
  kernels::reference::AccessTrace trace_;
  Buffer* buffer_ = nullptr;             // of the step that is logged now
  std::vector<AccessSegment> segments_;  // the thread's
  BufferRing<Buffer> ring_;              // last: its thread uses what stands before
};

}  // namespace backends
