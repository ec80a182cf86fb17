#pragma once
#include <cstdint>

#include "workers/engine/step.hpp"

namespace engine {

/// Where the engine is in a step: about to plan it, about to execute it, or done with it.
enum class StepPhase : std::uint8_t { plan, execute, done };

/// Executes steps: on a GPU, on the host, or on a model of either. With the virtual clock the
/// engine advances time by the duration that comes back; with the wall clock it has passed.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual StepResult execute(const StepPlan& plan) = 0;
  /// Step number `step` has come this far: for profilers, so most backends need not know.
  virtual void on_phase(StepPhase, std::uint64_t) {}
};

}  // namespace engine
