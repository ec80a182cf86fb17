#pragma once
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "workers/backends/cuda/cuda_cell.hpp"
#include "workers/backends/cuda/device/handles.hpp"
#include "workers/backends/cuda/device/profiler_range.hpp"
#include "workers/backends/cuda/forward/activations.hpp"
#include "workers/backends/cuda/forward/device_weights.hpp"
#include "workers/backends/cuda/forward/forward.hpp"
#include "workers/backends/cuda/forward/step_arrays.hpp"
#include "workers/backends/cuda/gpu_access_log.hpp"
#include "workers/engine/step/backend.hpp"

namespace backends::cuda {

/// Executes steps on one device. A step has completed when execute() returns.
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
  void on_phase(engine::StepPhase phase, std::uint64_t step) override;

  /// Reached when the last executed step has completed.
  const Event& fence() const { return step_end_; }
  std::byte* arena() const { return pool_.data(); }
  std::int64_t activation_bytes() const { return static_cast<std::int64_t>(activations_.bytes()); }
  /// Null without an access log.
  AccessLogger* access_log() { return access_log_ ? &*access_log_ : nullptr; }
  const StepCost& all_steps() const { return total_; }
  /// Logits of the last step, [rows that sampled][vocab], for tests.
  std::vector<float> logits() const;

 private:
  void run_step(const engine::StepPlan& plan);
  void run_decodes(int rows, const StepArrays& step);
  void run_layers(const StepArrays& step);
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
  int result_rows_ = 0;  // R of the last step, with padding
  Event step_start_, step_end_;
  StepBatch batch_;
  std::vector<engine::TokenId> sampled_;
  StepCost cost_, total_;
  std::optional<ProfilerRange> step_range_, schedule_range_;
};

}  // namespace backends::cuda
