#pragma once
#include "workers/backends/sim/cost_model.hpp"

namespace backends {

/// The linear regression of the published 72-run matrix: step = intercept + slope x scheduled
/// tokens. It includes all time that the measured engine spent in a step, host time too, and
/// ignores context lengths.
class PublishedCost final : public CostModel {
 public:
  /// Throws engine::InputError unless the regression was published for this card and model.
  PublishedCost(const GpuProfile& gpu, const model::ModelShape& shape);
  engine::Nanos step_time(const StepShape& step) const override;
  std::optional<StepLine> line_below(int tokens) const override;
  std::string label() const override { return "published"; }
  bool estimated() const override { return false; }
  std::string digest_text() const override;

 private:
  PublishedFit fit_;
};

}  // namespace backends
