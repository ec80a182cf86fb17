#pragma once
#include <optional>
#include <vector>

#include "kernels/attention/attention.hpp"
#include "kernels/log/clock.hpp"
#include "workers/backends/access_log.hpp"
#include "workers/backends/background.hpp"
#include "workers/backends/cuda/device/handles.hpp"
#include "workers/engine/step/step.hpp"

namespace backends::cuda {

/// Upper bounds of a step.
struct LargestStep {
  int tokens = 0, sequences = 0, context = 0;
};

/// The access log of a GpuBackend. Kernels fill one of three device buffers, which are copied to
/// the host on a low-priority stream while later steps run. One thread takes the records out of a
/// buffer and frees it; another checks and interleaves them, and nothing waits for that.
class GpuAccessLog final : public AccessLogger {
 public:
  /// `prompts_unread`: attention of whole prompts reads no KV blocks. Buffers are sized for the
  /// largest step, up to kMostReserved bytes. Throws engine::InputError as AccessLog does.
  GpuAccessLog(int device, const AccessLogOptions& options, const kernels::gpu::HeadShape& heads,
               const kernels::KvLayout& layout, int num_blocks, bool prompts_unread,
               const LargestStep& largest);
  ~GpuAccessLog() override;

  /// Prepares a buffer for the step on `stream`, on which its kernels follow. False when the step
  /// is not logged. Waits while all buffers are full.
  bool begin_step(const engine::StepPlan& plan, const Stream& stream);
  /// Log arguments of a layer's kernels; null when the layer is not logged. The same for all steps.
  const kernels::gpu::AccessLog* of_layer(int layer) const;
  /// Passes the step on while its kernels run. `end` is recorded behind them and must outlive this
  /// object. Throws AccessMismatch of an earlier step.
  void end_step(const engine::StepPlan& plan, const Event& end);

  void use_clock(const engine::Clock& cell) override;
  const AccessLog& finish() override;
  /// Counts both kinds of waits: no buffer was free, or the buffer had to grow.
  int waits() const override { return ring_->waits() + growths_; }
  engine::Nanos waited() const override { return ring_->waited() + grown_for_; }

  /// Size limit of each of the three buffers. Prompts of many requests with long contexts, in all
  /// layers, may need a thousand times as much; a buffer grows when such a step is logged.
  static constexpr std::size_t kMostReserved = std::size_t{256} << 20;

 private:
  struct Buffer {
    ExpectedStep expected;
    kernels::gpu::AccessPlan plan;
    DeviceBuffer device;
    PinnedBuffer host;
    Event ready;  // recorded after the copy to `host`
  };
  /// A step's segments, adjacent, each a header followed by its records alone.
  struct Packed {
    ExpectedStep expected;
    std::vector<std::byte> segments;
  };
  kernels::gpu::LoggedWork largest_work(const LargestStep& largest) const;
  kernels::gpu::LoggedWork work_of_tokens(int tokens) const;
  kernels::gpu::LoggedWork work_of(const engine::StepPlan& plan) const;
  void make_room(Buffer& buffer, std::size_t bytes);
  void lay_out(Buffer& buffer, const engine::StepPlan& plan);
  void upload_plan(const Buffer& buffer, const engine::StepPlan& plan, const Stream& stream);
  void empty(Buffer& buffer);
  std::vector<std::byte> packed(const Buffer& buffer) const;
  void tie_clocks();

  int device_;
  kernels::gpu::HeadShape heads_;
  AccessLog log_;
  std::vector<std::optional<kernels::gpu::AccessLog>> layers_;
  DeviceBuffer plan_;  // AccessPlan, then one byte per row
  PinnedBuffer plan_source_;
  PinnedBuffer exchange_;  // ClockExchange
  Stream flush_, clock_stream_;
  const engine::Clock* cell_ = nullptr;
  Buffer* buffer_ = nullptr;  // buffer of the step being logged
  int growths_ = 0;
  engine::Nanos grown_for_{0};
  // Declared last: their threads use the members above.
  std::optional<Backlog<Packed>> backlog_;
  std::optional<BufferRing<Buffer>> ring_;
};

}  // namespace backends::cuda
