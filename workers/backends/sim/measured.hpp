#pragma once
#include "workers/backends/sim/cost_model.hpp"

namespace backends {

/// A linear fit to steps of this engine on the real card: base, scheduled tokens, KV tokens read,
/// and query-key pairs of prompts. `kvsweep fit` computes its constants, which include host work
/// and gaps between kernels.
class MeasuredCost final : public CostModel {
 public:
  /// Throws engine::InputError unless steps of this model were measured on this card.
  MeasuredCost(const GpuProfile& gpu, const model::ModelShape& shape);
  engine::Nanos step_time(const StepShape& step) const override;
  std::optional<StepLine> line_below(int tokens) const override;
  std::string label() const override { return "measured"; }
  bool estimated() const override { return false; }
  std::string digest_text() const override;

 private:
  MeasuredFit fit_;
};

}  // namespace backends
