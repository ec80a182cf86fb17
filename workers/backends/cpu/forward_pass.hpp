#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/reference/attention.hpp"
#include "workers/backends/cpu/cpu_weights.hpp"
#include "workers/backends/cpu/gemm.hpp"
#include "workers/backends/cpu/kv_arena.hpp"
#include "workers/backends/step_batch.hpp"

namespace backends {

/// The transformer over paged KV, in float32. A token's result depends on the token, its position
/// and the KV of its prefix alone, bit by bit, whatever else is in the step.
///
/// A pass is begin(), layer(0), layer(1), ..., then logits() of the requested rows. Buffers keep
/// their capacity between passes.
class ForwardPass {
 public:
  /// Both are borrowed. Throws std::runtime_error when BLAS breaks the promise above.
  ForwardPass(const CpuWeights& weights, KvArena& arena);

  /// Computes the embeddings of the step's T tokens. `batch` must outlive the pass.
  void begin(const StepBatch& batch);
  /// Appends the layer's KV of all tokens before it attends: sequences of one step may share blocks
  /// that one of them fills. Logs accesses to the KV cache to `log`, if given.
  void layer(int number, kernels::reference::AccessTrace* log = nullptr);
  /// [T][hidden]: the residual stream after the last computed layer.
  std::span<const float> hidden() const { return hidden_; }
  /// [rows][vocab]: logits of these tokens of the step, valid until the next call.
  std::span<const float> logits(std::span<const std::int32_t> rows);

 private:
  /// A linear layer with its bias, if any: [T][inputs] to [T][outputs].
  void linear(std::vector<float>& out, const std::vector<float>& x, int weight, int bias, int rows);
  void norm(std::vector<float>& out, const std::vector<float>& x, int weight, int bias, int rows);
  void attention(const model::LayerParameters& layer, int number,
                 kernels::reference::AccessTrace* log);
  void norm_heads(const model::LayerParameters& layer);
  template <class Kv>
  void append(int number, kernels::reference::AccessTrace* log);
  template <class Kv>
  void paged_attention(int number, kernels::reference::AccessTrace* log);
  void mlp(const model::LayerParameters& layer);
  void check_gemm();

  const CpuWeights& weights_;
  KvArena& arena_;
  RowInvariantGemm gemm_;
  const StepBatch* batch_ = nullptr;
  std::vector<float> hidden_;           // [T][hidden]
  std::vector<float> normed_;           // [T][hidden]
  std::vector<float> qkv_;              // [T][(heads + 2 kv_heads) head_dim]
  std::vector<float> attended_;         // [T][heads head_dim]
  std::vector<float> up_, activated_;   // [T][intermediate], up_ with the gates twice as wide
  std::vector<float> projected_;        // [T][hidden]
  std::vector<float> cosines_, sines_;  // [T][head_dim / 2]
  std::vector<float> wanted_, logits_;  // [rows][hidden], [rows][vocab]
  kernels::reference::AttentionScratch scratch_;
};

}  // namespace backends
