#pragma once
#include <optional>
#include <vector>

#include "kernels/device/attention.hpp"
#include "kernels/device/clock.hpp"
#include "workers/backends/access_log.hpp"
#include "workers/backends/buffer_ring.hpp"
#include "workers/backends/cuda/handles.hpp"
#include "workers/backends/step_batch.hpp"

namespace backends::cuda {

/// The access log of a GpuBackend: kernels fill one of three device buffers, which a thread copies
/// to the host on a stream of low priority while later steps run, and empties there.
class GpuAccessLog final : public AccessLogger {
 public:
  /// `prompts_unread`: attention of whole prompts reads no KV blocks. Throws engine::InputError as
  /// AccessLog does.
  GpuAccessLog(int device, const AccessLogOptions& options, const kernels::gpu::HeadShape& heads,
               const kernels::KvLayout& layout, int num_blocks, bool prompts_unread);
  ~GpuAccessLog() override;

  /// Prepares a buffer for the step on `stream`, on which its kernels follow. False when it is not
  /// logged. Waits while all buffers are full.
  bool begin_step(const engine::StepPlan& plan, const StepBatch& batch, const Stream& stream);
  /// What a layer's kernels are told; null when it is not logged. The same for all steps.
  const kernels::gpu::AccessLog* of_layer(int layer) const;
  /// Hands the step on; `end` is recorded behind its kernels and lives as long as this. Throws
  /// AccessMismatch, of an earlier step.
  void end_step(const Event& end);

  void use_clock(const engine::Clock& cell) override;
  const AccessLog& finish() override;
  int waits() const override { return ring_->waits(); }
  engine::Nanos waited() const override { return ring_->waited(); }

 private:
  struct Buffer {
    ExpectedStep expected;
    kernels::gpu::AccessPlan plan;
    DeviceBuffer device;
    PinnedBuffer host;
    Event ready;  // behind the step's kernels
  };
  kernels::gpu::LoggedWork work_of(const ExpectedStep& step, const StepBatch& batch) const;
  void lay_out(Buffer& buffer, const StepBatch& batch);
  void upload_plan(const Buffer& buffer, const Stream& stream);
  void empty(Buffer& buffer);
  std::vector<AccessSegment> segments_of(const Buffer& buffer) const;
  void tie_clocks();

  int device_;
  kernels::gpu::HeadShape heads_;
  AccessLog log_;
  std::vector<std::optional<kernels::gpu::AccessLog>> layers_;
  DeviceBuffer plan_;  // AccessPlan, then a byte for each row
  PinnedBuffer plan_source_;
  PinnedBuffer exchange_;  // ClockExchange
  Stream flush_, clock_stream_;
  const engine::Clock* cell_ = nullptr;
  Buffer* buffer_ = nullptr;                // of the step that is logged now
  std::optional<BufferRing<Buffer>> ring_;  // last: its thread uses what stands before
};

}  // namespace backends::cuda
