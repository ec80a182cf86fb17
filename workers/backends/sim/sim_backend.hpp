#pragma once
#include "workers/backends/sim/cost_model.hpp"
#include "workers/backends/sim/link_copier.hpp"
#include "workers/engine/step/backend.hpp"

namespace backends {

/// The counts of a step that cost models use.
StepShape shape_of(const engine::StepPlan& plan);

/// Executes nothing: a step takes as long as the cost model says. Generates no tokens, so every
/// request must provide its answer (forced decoding).
class SimBackend final : public engine::Backend {
 public:
  explicit SimBackend(const CostModel& cost_model) : cost_model_(cost_model) {}
  engine::StepResult execute(const engine::StepPlan& plan) override;

  /// A later step takes `step` longer, and `block` for each block whose load was submitted
  /// since the step before it: the host's work for a tier. Borrows the copier.
  void add_tier_work(const LinkCopier& copier, engine::Nanos step, engine::Nanos block);

 private:
  engine::Nanos tier_work();

  const CostModel& cost_model_;
  const LinkCopier* copier_ = nullptr;
  engine::Nanos step_{0}, block_{0};
  std::int64_t loaded_blocks_ = 0;  // before this step
};

}  // namespace backends
