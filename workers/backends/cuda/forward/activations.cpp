#include "workers/backends/cuda/forward/activations.hpp"

#include <algorithm>

#include "kernels/attention/attention.hpp"
#include "kernels/layers/layers.hpp"
#include "workers/backends/cuda/forward/device_weights.hpp"

namespace backends::cuda {
namespace {

/// Places arrays one after another, at multiples of 256 bytes. Without a base it only counts bytes.
class Carver {
 public:
  explicit Carver(std::byte* base) : base_(base) {}
  void* take(std::int64_t rows, std::int64_t row_bytes) {
    void* at = base_ == nullptr ? nullptr : base_ + used_;
    used_ += (static_cast<std::size_t>(rows * row_bytes) + 255) / 256 * 256;
    return at;
  }
  template <class T>
  T* take_as(std::int64_t rows, std::int64_t row_elements) {
    return static_cast<T*>(take(rows, row_elements * std::int64_t{sizeof(T)}));
  }
  std::size_t used() const { return used_; }

 private:
  std::byte* base_;
  std::size_t used_ = 0;
};

}  // namespace

Activations::Activations(const model::ModelConfig& config, const StepLimits& limits)
    : type(kernel_type(config.dtype)),
      heads{config.shape.heads, config.shape.kv_heads, config.shape.head_dim},
      logits_stride((config.shape.vocab + 7) / 8 * 8) {
  host_ = PinnedBuffer(2 * sizeof(std::int32_t) * static_cast<std::size_t>(limits.sequences));
  sampled = host_.as<std::int32_t>();
  memory_ = DeviceBuffer(lay_out(config, limits));
  lay_out(config, limits);
  // Workspaces must be zero before their first use; everything else is written before it is read.
  check(cudaMemset(memory_.data(), 0, memory_.bytes()), "clearing the activations");
}

std::size_t Activations::lay_out(const model::ModelConfig& config, const StepLimits& limits) {
  const model::ModelShape& shape = config.shape;
  const std::int64_t T = limits.tokens, R = limits.sequences;
  const std::int64_t size = size_of(config.dtype);
  Carver memory(memory_.data());
  residual = memory.take_as<float>(T, shape.hidden);
  constexpr int kTile = kernels::gpu::kGatedGemmTile;
  normed_rows = (limits.tokens + kTile - 1) / kTile * kTile;
  normed = memory.take(normed_rows, shape.hidden * size);
  norm_squares =
      memory.take_as<float>(1, static_cast<std::int64_t>(kernels::gpu::fused_norm_bytes() / 4));
  if (shape.learned_positions == 0) rotations = memory.take_as<float>(T, shape.head_dim);
  qkv = memory.take(T, heads.qkv_width() * size);
  attention = memory.take(T, std::int64_t{shape.heads} * shape.head_dim * size);
  projected = memory.take(T, shape.hidden * size);
  // Where one kernel computes gate and up of many rows, `up` is for fewer rows alone.
  using kernels::gpu::kSmallGemmRowsWgmma;
  const bool fused =
      shape.gated_mlp &&
      kernels::gpu::prefers_gated_gemm(kSmallGemmRowsWgmma + 1, shape.intermediate, shape.hidden);
  up_rows = fused ? std::min(limits.tokens, kSmallGemmRowsWgmma) : limits.tokens;
  up = memory.take(up_rows, (shape.gated_mlp ? 2 : 1) * std::int64_t{shape.intermediate} * size);
  activated = shape.gated_mlp ? memory.take(T, shape.intermediate * size) : up;
  head_rows = memory.take(R, shape.hidden * size);
  logits = memory.take_as<float>(R, logits_stride);
  prefill_workspace =
      memory.take(1, static_cast<std::int64_t>(kernels::gpu::prefill_workspace_bytes(
                         heads, kernels::gpu::prefill_sharers())));
  decode_workspace = memory.take(
      1, static_cast<std::int64_t>(kernels::gpu::decode_workspace_bytes(limits.sequences, heads)));
  argmax_workspace = memory.take(
      1, static_cast<std::int64_t>(kernels::gpu::argmax_workspace_bytes(limits.sequences)));
  return memory.used();
}

}  // namespace backends::cuda
