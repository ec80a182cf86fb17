#pragma once
#include <string>

#include "workers/backends/sim/cost_model.hpp"
#include "workers/backends/sim/link_copier.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/engine/step/backend.hpp"

namespace backends {

/// The counts of a step that cost models use.
inline StepShape shape_of(const engine::StepPlan& plan) {
  StepShape shape;
  shape.tokens = plan.total_tokens;
  for (const engine::ScheduledRequest& share : plan.scheduled) {
    shape.logits_rows += share.samples ? 1 : 0;
    const int context = share.computed_before + share.num_tokens;
    if (share.decode) {
      ++shape.decodes;
      shape.decode_context_tokens += context;
      continue;
    }
    shape.prefill_tokens += share.num_tokens;
    shape.prefill_kv_tokens += context;
    // Query i of the chunk attends to computed_before + i + 1 keys.
    shape.prefill_context_products +=
        share.num_tokens * (share.computed_before + (share.num_tokens + 1) / 2.0);
  }
  return shape;
}

/// Executes nothing: a step takes as long as the cost model says. Generates no tokens, so every
/// request must provide its answer (forced decoding).
class SimBackend final : public engine::Backend {
 public:
  explicit SimBackend(const CostModel& cost_model) : cost_model_(cost_model) {}
  engine::StepResult execute(const engine::StepPlan& plan) override {
    if (plan.scheduled.empty()) return {};
    for (const engine::ScheduledRequest& share : plan.scheduled)
      if (share.samples) require_answer(share);
    return {.sampled = {}, .duration = cost_model_.step_time(shape_of(plan)) + tier_work()};
  }

  /// A later step takes `step` longer, and `block` for each block whose load was submitted
  /// since the step before it: the host's work for a tier. Borrows the copier.
  void add_tier_work(const LinkCopier& copier, engine::Nanos step, engine::Nanos block) {
    copier_ = &copier;
    step_ = step;
    block_ = block;
  }

 private:
  static void require_answer(const engine::ScheduledRequest& share) {
    const engine::Request& request = *share.request;
    const std::size_t given = request.spec.forced.size();
    if (request.outputs.size() + static_cast<std::size_t>(share.in_flight) < given) return;
    throw engine::InputError("the simulator generates no tokens, and the answer of job " +
                             std::to_string(index(request.spec.job)) + " turn " +
                             std::to_string(request.spec.turn) + " ends after " +
                             std::to_string(given) + " of up to " +
                             std::to_string(request.spec.max_tokens) + " tokens");
  }
  engine::Nanos tier_work() {
    if (copier_ == nullptr) return engine::Nanos{0};
    const std::int64_t blocks = copier_->loaded_blocks() - loaded_blocks_;
    loaded_blocks_ = copier_->loaded_blocks();
    return step_ + blocks * block_;
  }

  const CostModel& cost_model_;
  const LinkCopier* copier_ = nullptr;
  engine::Nanos step_{0}, block_{0};
  std::int64_t loaded_blocks_ = 0;  // before this step
};

}  // namespace backends
