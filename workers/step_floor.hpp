#pragma once
#include "workers/backends/cuda/ceilings.hpp"
#include "workers/backends/sim/cost_model.hpp"
#include "workers/model/shape.hpp"

namespace worker {

/// The least time that a step can take on a device, seconds: its weights and KV, each read once at
/// the read rate, or its arithmetic at the rate of large matrix products, whichever takes longer.
/// Norms, activations and launches cost nothing here.
double step_floor(const backends::StepShape& step, const model::ModelShape& shape,
                  const backends::Ceilings& ceilings);

}  // namespace worker
