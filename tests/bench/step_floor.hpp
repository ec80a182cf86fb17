#pragma once
#include "tests/bench/ceilings.hpp"
#include "workers/backends/sim/cost_model.hpp"
#include "workers/model/shape.hpp"

namespace worker {

/// Lower bound of a step's time on a device, in seconds: the time to read its weights and KV once
/// at the read rate, or its arithmetic at the rate of large matrix products, whichever is longer.
/// Norms, activations and launches count as free.
double step_floor(const backends::StepShape& step, const model::ModelShape& shape,
                  const backends::Ceilings& ceilings);

}  // namespace worker
