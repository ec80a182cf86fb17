#pragma once
#include <array>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "workers/backends/cuda/cuda_device.hpp"
#include "workers/backends/cuda/device/handles.hpp"
#include "workers/backends/cuda/device/profiler_range.hpp"
#include "workers/backends/cuda/forward/activations.hpp"
#include "workers/backends/cuda/forward/device_weights.hpp"
#include "workers/backends/cuda/forward/forward.hpp"
#include "workers/backends/cuda/forward/step_arrays.hpp"
#include "workers/backends/cuda/forward/unapplied_samples.hpp"
#include "workers/backends/cuda/gpu_access_log.hpp"
#include "workers/engine/step/backend.hpp"

namespace backends::cuda {

/// Executes steps on one device. A step has completed when execute() or wait() returns it. Steps
/// run in order on one stream, so that what a later step does to a block comes behind all that an
/// earlier one does.
class GpuBackend final : public engine::Backend {
 public:
  /// Allocates activations and workspaces for the largest step. `weights` is borrowed. execute()
  /// also requires a KV pool.
  GpuBackend(int device, const DeviceWeights& weights, const CudaCellOptions& options,
             GemmTable& gemms);

  /// Bytes of one KV block.
  std::int64_t block_bytes() const;
  /// Measures matrix products that the table lacks. Call after warm_up().
  void tune();
  /// Captures the graphs of all sizes of decode steps ahead of time, instead of at the first step
  /// of a size.
  void record_graphs();

  /// Allocates the pool. Throws DeviceOutOfMemory, and can then be called again with a smaller
  /// pool.
  void take_pool(const PoolPlan& plan);

  /// Creates the access log, if the options request one, for a pool of `num_blocks` blocks. Throws
  /// engine::InputError as AccessLog does.
  void start_access_log(int num_blocks);

  /// Runs the largest prompt and a decode on a small pool of its own, so that kernels are loaded
  /// and their memory is allocated before the pool is sized and time is measured. Call before
  /// take_pool().
  void warm_up();

  /// Throws what check_step() throws, NotFinite, DeviceLost and DeviceError.
  engine::StepResult execute(const engine::StepPlan& plan) override;
  /// At most one step may be in flight. Of the tokens, those that it samples are taken on the
  /// device.
  void launch(const engine::StepPlan& plan) override;
  /// Does not name the layer of a step that is not finite: blocks may have been written since.
  engine::StepResult wait() override;
  void on_phase(engine::StepPhase phase, std::uint64_t step) override;

  /// Reached when the last step has completed.
  const Event& fence() const { return flights_[launched_ % flights_.size()].end; }
  std::byte* arena() const { return pool_.data(); }
  std::int64_t activation_bytes() const { return static_cast<std::int64_t>(activations_.bytes()); }
  /// Null without an access log.
  AccessLogger* access_log() { return access_log_ ? &*access_log_ : nullptr; }
  const StepCost& all_steps() const { return total_; }
  /// Logits of the last step, [rows that sampled][vocab], for tests.
  std::vector<float> logits() const;

 private:
  /// A step on the stream.
  struct Flight {
    Event start, end;
    PinnedBuffer kept;  // [2][result rows], as Activations::sampled
    int result_rows = 0;
    std::uint64_t step = 0;
    std::vector<SampledRow> rows;
    double prepare = 0, launch = 0;  // host time, s
  };
  Flight& enqueue(const engine::StepPlan& plan);
  void complete(const Flight& flight);
  static const SampledRow* first_nan(const Flight& flight, const std::int32_t* results);
  engine::StepResult result_of(const Flight& flight, const std::int32_t* results);
  void run_decodes(int rows, const StepArrays& step);
  void run_layers(const StepArrays& step);
  KvArena arena_of_kernels() const { return {pool_.data(), layout_, options_.fp8_kv}; }
  int padded_rows(int decodes) const;
  [[noreturn]] void find_nan(const engine::StepPlan& plan);
  void require_finite(const engine::StepPlan& plan, int layer) const;

  int device_;
  const DeviceWeights& weights_;
  CudaCellOptions options_;
  kernels::KvLayout layout_;
  Stream stream_;
  Activations activations_;
  StepUpload upload_;
  Forward forward_;
  DeviceBuffer pool_;
  std::map<std::pair<int, bool>, Graph> graphs_;  // by rows, and whether logged; for this pool
  std::optional<GpuAccessLog> access_log_;
  bool logged_ = false;  // the current step is logged
  std::array<Flight, 2> flights_;
  std::size_t launched_ = 0, landed_ = 0;  // steps
  StepBatch batch_;
  UnappliedSamples unapplied_;
  std::vector<engine::TokenId> sampled_;
  StepCost cost_, total_;
  std::optional<ProfilerRange> step_range_, schedule_range_;
};

}  // namespace backends::cuda
