#pragma once
#include <functional>
#include <span>

#include "kernels/attention/attention.hpp"
#include "kernels/layers/layers.hpp"
#include "workers/backends/cuda/forward/activations.hpp"
#include "workers/backends/cuda/forward/device_weights.hpp"
#include "workers/backends/cuda/forward/gemm.hpp"
#include "workers/backends/cuda/forward/step_arrays.hpp"
#include "workers/model/config.hpp"

namespace backends::cuda {

/// KV blocks of one device, as kernels see them.
struct KvArena {
  void* data = nullptr;  // [blocks] of `layout`, device
  kernels::KvLayout layout;
  bool e4m3 = false;
};

/// A forward pass of the model over a step, from token ids to greedy tokens. Enqueues everything on
/// one stream and never synchronizes.
class Forward {
 public:
  /// All are borrowed. `table` selects the algorithms of matrix products.
  Forward(const DeviceWeights& weights, Activations& activations, const Stream& stream,
          GemmTable& table);

  /// Measures algorithms for all products of up to this many tokens and rows of logits that the
  /// table lacks.
  void tune(int tokens, int logits_rows);

  /// Called when a layer is enqueued, whose output is in `projected`; -1 is the embedding.
  using LayerHook = std::function<void(int layer)>;
  /// Returns the log of a layer's accesses to the KV cache; null: not logged. The pointers are not
  /// kept.
  using LayerLog = std::function<const kernels::gpu::AccessLog*(int layer)>;
  void run(const StepArrays& step, const KvArena& kv, const LayerHook& hook = {},
           const LayerLog& log = {});

 private:
  void embed(const StepArrays& step);
  void compute_rotations(const StepArrays& step);
  void attention_half(int layer, const StepArrays& step, const KvArena& kv);
  void attend(int layer, const StepArrays& step, const KvArena& kv);
  void prefill(const StepArrays& step, const kernels::gpu::PagedKv& kv,
               kernels::gpu::KvSource source, const PrefillArrays& work);
  /// With `rotations`, decode attention appends KV itself.
  void decode(const StepArrays& step, const kernels::gpu::PagedKv& kv, const float* rotations);
  void mlp_half(int layer, const StepArrays& step);
  void up_and_activate(const model::LayerParameters& layer, int tokens);
  void gated(const model::LayerParameters& layer, int tokens);
  void activate(const model::LayerParameters& layer, int tokens);
  bool takes_gated(int tokens) const;
  void head(const StepArrays& step);
  // Below, on the device: x [rows][k], w [n][k], y [rows][n], of the model's type but for logits.
  /// residual += output of the last projection; normed = norm(residual).
  void add_norm(int rows, const std::int32_t* row_ids, int weight, int bias, void* out);
  void add_to_residual(int rows, int weight, int bias, const void* x, int norm_weight);
  bool can_fuse_norms(int tokens) const;
  bool decode_can_append(const StepArrays& step) const;
  kernels::gpu::NormBefore norm_before() const;
  kernels::gpu::SmallGemm small_product(const GemmShape& shape, const void* x, const void* w,
                                        void* y) const;
  void project(int rows, int weight, const void* x, void* y);
  void multiply(const GemmShape& shape, const void* x, const void* w, void* y);
  GemmShape projection(int rows, int weight) const;
  GemmShape head_product(int rows) const;
  void fill_random(void* out, std::int64_t elements) const;
  void tune_layers(int rows);
  void tune_product(const GemmShape& shape, const void* x, std::span<const void* const> weights,
                    void* y);
  const model::LayerParameters& layer(int i) const {
    return weights_.layout().layers[static_cast<std::size_t>(i)];
  }

  const DeviceWeights& weights_;
  Activations& to_;
  const Stream& stream_;
  Gemm gemm_;
  model::RopeTable rope_;
  DeviceBuffer inverse_frequencies_;  // [head_dim / 2] float32; empty with learned positions
  float attention_scale_;
  const kernels::gpu::AccessLog* log_ = nullptr;  // log of the layer being enqueued
  bool may_log_ = false;                          // the step, in some of its layers
  bool fuses_norms_ = false;                      // the products of this step compute its norms
  bool normed_unscaled_ = false;  // rows of `normed` lack the factor 1 / root mean square
  bool has_addend_ = false;       // `projected` must still be added to the residual
  int addend_bias_ = -1;          // parameter index of its bias
};

}  // namespace backends::cuda
