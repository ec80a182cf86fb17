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
               int num_blocks);

  /// The log of the step's kernels; null when the step is not logged. end_step() must follow.
  kernels::reference::AccessTrace* begin_step(const engine::StepPlan& plan);
  /// Passes the step on, if it is logged. Throws AccessMismatch of this step or an earlier one.
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
  Buffer* buffer_ = nullptr;             // buffer of the step being logged
  std::vector<AccessSegment> segments_;  // used by the thread
  BufferRing<Buffer> ring_;              // declared last: its thread uses the members above
};

}  // namespace backends
