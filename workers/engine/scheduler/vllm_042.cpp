#include "workers/engine/scheduler/v1.hpp"
#include "workers/engine/step/compute_rates.hpp"

namespace engine {
namespace {

/// The schedulers of vLLM 0.4.2 and its block manager V1. They differ from V1 in three points. A
/// sequence gets all its blocks when it is admitted. It continues only while a block is free for
/// it, needed or not. Steps either mix prompts and decodes, or compute prompts alone while there
/// are any; steps that may split prompts can have a token budget of their own.
class Vllm042Batching final : public V1Batching {
 public:
  using V1Batching::V1Batching;

  void fill(Step& step) override {
    const SchedulerConfig& config = state_.config;
    if (config.adaptive_chunking && !prefill_dominates(step)) step.splits_prompts = false;
    if (step.splits_prompts && config.chunk_tokens > 0)
      step.plan.token_budget = config.chunk_tokens;
    if (config.batching == Batching::mixed) return V1Batching::fill(step);
    fill_prefill_first(step);
  }

  void on_computed(const StepPlan& plan, Nanos took) override {
    if (state_.config.adaptive_chunking) rates_.computed(plan, took);
  }

 private:
  /// While requests are swapped out no new one is admitted; they resume beside the running ones.
  void fill_prefill_first(Step& step) {
    if (!swapped_out_waits()) admit_waiting(step);
    if (!step.plan.scheduled.empty()) return;
    schedule_running(step);
    if (step.out_of_blocks) {
      step.plan.stop = StopReason::preempted;
      return;
    }
    while (swapped_out_waits())
      if (!admit_head(step)) return;
    if (state_.order.front() == nullptr) admit_waiting(step);
  }

  bool swapped_out_waits() const {
    const Request* head = state_.order.front();
    return head != nullptr && head->swapped_out;
  }

  Needs needs_of(const Request& request) const override {
    // A swapped-out request must get one more block than it had, so that it can continue.
    const bool one_more = request.swapped_out && !state_.running.empty();
    return {.must_fit = whole_sequence(request, one_more ? state_.kv.block_size() - 1 : 0),
            .allocated = request.num_tokens()};
  }

  bool try_grow(Request& request, int num_tokens) override {
    const bool alone = state_.running.size() == 1;
    return (alone || state_.kv.num_free() > 0) && state_.kv.try_grow(request, num_tokens);
  }

  /// Whether the running prompts and the prompt at the head of the queue, computed whole, would
  /// take longer than the step's decodes, estimated from the steps seen. True when the step has no
  /// decodes, or while no step of decodes alone has been seen.
  bool prefill_dominates(const Step& step) const {
    int prompts = 0;
    bool decodes = false;
    for (const Request* r = state_.running.front(); r != nullptr; r = RunningList::next(*r)) {
      decodes = decodes || r->decoding();
      if (!r->decoding()) prompts += wanted(*r, r->num_computed_tokens, step);
    }
    const Request* head = state_.order.front();
    if (head != nullptr && !head->swapped_out)
      prompts += wanted(*head, head->num_computed_tokens, step);
    if (prompts == 0) return false;
    return !decodes || !rates_.knows_decodes() || rates_.prompt_s(prompts) > rates_.decode_s();
  }

  ComputeRates rates_;  // adaptive chunking: durations of steps
};

}  // namespace

std::unique_ptr<V1Batching> make_vllm_042_batching(SchedulerState& state) {
  return std::make_unique<Vllm042Batching>(state);
}

}  // namespace engine
