#pragma once
#include <cstdint>

#include "kernels/device/types.hpp"
#include "workers/backends/cuda/device/handles.hpp"
#include "workers/backends/cuda/forward/step_arrays.hpp"
#include "workers/model/config.hpp"

namespace backends::cuda {

/// All arrays between a step's tokens and its sampled ids, in one allocation for the largest step.
/// T tokens, R rows of logits, d = hidden; `type` is the model's. Device memory but for `sampled`.
class Activations {
 public:
  Activations(const model::ModelConfig& config, const StepLimits& limits);

  kernels::gpu::Type type;
  kernels::gpu::HeadShape heads;
  int logits_stride;                  // elements between rows of logits
  float* residual = nullptr;          // [T][d]
  int normed_rows = 0;                // T, rounded up to whole tiles of a product
  void* normed = nullptr;             // [normed_rows][d] of type
  float* norm_squares = nullptr;      // fused_norm_bytes(): sums of squares of rows of `residual`
  float* rotations = nullptr;         // [T][head_dim / 2][2], or none with learned positions
  void* qkv = nullptr;                // [T][qkv_width] of type
  void* attention = nullptr;          // [T][heads * head_dim] of type
  void* projected = nullptr;          // [T][d] of type: output of the last O or down projection
  int up_rows = 0;                    // T, or fewer where one kernel computes gate and up
  void* up = nullptr;                 // [up_rows][intermediate], twice that with a gate, of type
  void* activated = nullptr;          // [T][intermediate] of type; `up` itself without a gate
  void* head_rows = nullptr;          // [R][d] of type
  float* logits = nullptr;            // [R][logits_stride]
  std::int32_t* sampled = nullptr;    // [2][R of the step]: tokens, then flags: a logit is NaN; in
                                      // page-locked host memory, which the device writes
  void* prefill_workspace = nullptr;  // prefill_workspace_bytes()
  void* decode_workspace = nullptr;   // decode_workspace_bytes()
  void* argmax_workspace = nullptr;   // argmax_workspace_bytes()

  std::size_t bytes() const { return memory_.bytes(); }
  std::size_t sampled_bytes() const { return host_.bytes(); }

 private:
  /// Assigns every array its place and returns the total bytes.
  std::size_t lay_out(const model::ModelConfig& config, const StepLimits& limits);

  DeviceBuffer memory_;
  PinnedBuffer host_;
};

}  // namespace backends::cuda
