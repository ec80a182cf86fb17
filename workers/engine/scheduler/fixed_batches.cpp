#include <algorithm>
#include <vector>

#include "workers/engine/scheduler/v1.hpp"

namespace engine {
namespace {

/// A batch admits all waiting requests, over as many steps as their prompts need, and is closed
/// until its last sequence has ended. Each sequence has one contiguous buffer, which stays
/// allocated as long.
class FixedBatching final : public V1Batching {
 public:
  using V1Batching::V1Batching;

  void fill(Step& step) override {
    if (state_.running.empty()) {
      state_.kv.release(ended_);
      ended_.clear();
      unwritten_slots_ = 0;
      state_.kv.restore_order();
      open_ = true;
    }
    const StopReason& stop = step.plan.stop;
    if (open_) {
      admit_waiting(step);
      open_ = stop == StopReason::tok_budget || stop == StopReason::chunk_off;
    }
    if (step.plan.scheduled.empty()) schedule_running(step);
  }

  void on_finish(Request& request) override {
    const std::vector<BlockId> blocks = state_.kv.take_blocks(request);
    ended_.insert(ended_.end(), blocks.begin(), blocks.end());
    unwritten_slots_ +=
        static_cast<int>(blocks.size()) * state_.kv.block_size() - request.num_computed_tokens;
  }

  EndedSequences ended() const override { return {ended_, unwritten_slots_}; }

 private:
  Needs needs_of(const Request& request) const override {
    const SchedulerConfig& config = state_.config;
    const int output = std::max(config.buffer_output_tokens, request.spec.max_tokens);
    const int buffer = config.buffer_output_tokens == 0
                           ? config.max_model_len
                           : std::min(request.num_prompt() + output, config.max_model_len);
    return {.must_fit = buffer, .allocated = buffer};
  }

  bool open_ = false;  // more requests may join the batch
  std::vector<BlockId> ended_;
  int unwritten_slots_ = 0;  // in blocks of ended sequences
};

}  // namespace

std::unique_ptr<V1Batching> make_fixed_batching(SchedulerState& state) {
  return std::make_unique<FixedBatching>(state);
}

}  // namespace engine
