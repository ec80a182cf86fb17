#pragma once
#include "workers/backends/sim/cost_model.hpp"

namespace backends {

/// Time of the GEMM and attention kernels of a step, from constants fitted to kernel timings, plus
/// a constant host overhead. docs/engine.md has formulas, sources and fit errors.
class KernelsCost final : public CostModel {
 public:
  KernelsCost(const GpuProfile& gpu, const model::ModelShape& shape);
  engine::Nanos step_time(const StepShape& step) const override;
  std::optional<StepLine> line_below(int tokens) const override;
  std::string label() const override { return estimated() ? "kernels (estimated)" : "kernels"; }
  bool estimated() const override { return estimated_; }
  std::string digest_text() const override;

 private:
  /// Seconds of a group of GEMMs over `rows` rows: the norm of a memory time (launches, weights,
  /// activations) and an arithmetic time.
  struct Gemms {
    double memory_base = 0;     // launches and weights
    double memory_per_row = 0;  // activations
    double compute_per_row = 0;
  };
  /// Seconds in all layers.
  struct Attention {
    double launch = 0;
    double per_row = 0;            // per prefill token, or per decoding sequence
    double per_pair = 0;           // prefill: arithmetic of a query-key pair
    double per_context_token = 0;  // reading the KV of one token
  };

  double gemm_seconds(const Gemms& gemms, double rows) const;
  double attention_seconds(const StepShape& step) const;

  model::ModelShape shape_;
  KernelFit fit_;
  bool estimated_;
  int norm_squarings_ = 0;  // log2 of the norm
  Gemms layers_;
  Gemms head_;
  Attention prefill_;
  Attention decode_;
  double overhead_ = 0;  // seconds per step
};

}  // namespace backends
