#pragma once
#include "workers/engine/step.hpp"

namespace engine {

/// Executes steps: on a GPU, on the host, or on a model of either. With the virtual clock the
/// engine advances time by the duration that comes back; with the wall clock it has passed.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual StepResult execute(const StepPlan& plan) = 0;
};

}  // namespace engine
