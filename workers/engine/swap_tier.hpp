#pragma once
#include <vector>

#include "workers/engine/tier_config.hpp"
#include "workers/engine/tier_events.hpp"

namespace engine {

/// Host memory that keeps the KV of preempted requests until they run again, as vLLM 0.4.2's swap
/// space: blocks go out before the step that preempts is executed, and come back before the step
/// that resumes; everybody in the step waits. A request goes out whole, or computes again;
/// partially, if so ruled, its first blocks go out as far as there is space.
class SwapTier final : public HostTier {
 public:
  SwapTier(const TierConfig& config, KvCache& kv, BlockCopier& copier,
           std::vector<KvEvent>& events);

  HostHit find(Request& request, int gpu_tokens) override;
  void load(Request& request, int gpu_blocks, int num_blocks) override;
  void forget(Request& request, Nanos now) override;
  void on_turn_finish(Request& request, Nanos now) override { forget(request, now); }
  bool keep_preempted(Request& request) override;

  std::span<const LoadedKv> before_execution(const StepPlan& plan, Clock& clock) override;

  TransferStats take_stats() override { return transfers_.take_stats(); }
  int blocks_held() const override;
  int capacity() const override { return static_cast<int>(config_.host_blocks); }

 private:
  struct Swapped {
    const Request* request;
    int tokens;
    std::vector<HostSlot> slots;  // of its first blocks
  };
  struct Load {
    TransferId id;
    Request* request;
    int gpu_blocks;
    std::vector<BlockCopy> copies;
  };
  std::vector<Swapped>::iterator entry_of(const Request& request);
  void release(std::vector<Swapped>::iterator entry);
  void end_stores(int landed);
  void end_load(const Load& load, const TransferDone& done);

  TierConfig config_;
  KvCache& kv_;
  TransferQueue transfers_;
  TierEvents events_;
  std::vector<HostSlot> free_;
  std::vector<Swapped> swapped_;
  std::vector<BlockCopy> going_out_;
  std::vector<Load> loads_;
  std::vector<LoadedKv> failed_;
};

}  // namespace engine
