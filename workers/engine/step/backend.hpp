#pragma once
#include <cstdint>
#include <deque>
#include <vector>

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

  // Asynchronous engines use these instead. They launch a step while the one before it may still
  // run, and wait for each in order of launch.
  /// Starts the step behind the one in flight. Reads the plan and its requests before it returns.
  /// By default the step is executed at once.
  virtual void launch(const StepPlan& plan) {
    const StepResult result = execute(plan);
    Launched& step = launched_.emplace_back();
    step.sampled.assign(result.sampled.begin(), result.sampled.end());
    step.result = result;
  }
  /// Waits for the oldest step that was launched. `sampled` is valid until the next call. The
  /// duration counts from the end of the step before, or from launch() if that is later.
  virtual StepResult wait() {
    oldest_ = std::move(launched_.front());
    launched_.pop_front();
    oldest_.result.sampled = oldest_.sampled;
    return oldest_.result;
  }

  /// Step number `step` has reached this phase. For profilers; most backends ignore it.
  virtual void on_phase(StepPhase, std::uint64_t) {}

 private:
  struct Launched {
    std::vector<TokenId> sampled;
    StepResult result;
  };
  std::deque<Launched> launched_;
  Launched oldest_;
};

}  // namespace engine
