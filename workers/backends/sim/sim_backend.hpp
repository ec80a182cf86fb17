#pragma once
#include "workers/backends/sim/cost_model.hpp"
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

 private:
  const CostModel& cost_model_;
};

}  // namespace backends
