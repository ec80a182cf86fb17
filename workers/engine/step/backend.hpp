#pragma once
#include <cstdint>

#include "workers/engine/step/step.hpp"

namespace engine {

/// Phase of the engine in a step: about to plan it, about to execute it, or done with it.
enum class StepPhase : std::uint8_t { plan, execute, done };

/// Executes steps: on a GPU, on the host, or on a model of either. With the virtual clock the
/// engine advances time by the returned duration; with the wall clock that time has already passed.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual StepResult execute(const StepPlan& plan) = 0;
  /// Step number `step` has reached this phase. For profilers; most backends ignore it.
  virtual void on_phase(StepPhase, std::uint64_t) {}
};

}  // namespace engine
