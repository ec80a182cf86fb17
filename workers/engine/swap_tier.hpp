#pragma once
#include <vector>

#include "workers/engine/swap_tier_rates.hpp"
#include "workers/engine/tier_config.hpp"
#include "workers/engine/tier_events.hpp"

namespace engine {

/// Host memory that keeps the KV of preempted requests until they run again, as vLLM 0.4.2's swap
/// space: blocks go out before the step that preempts is executed, and come back before the step
/// that resumes; all requests of the step wait. A request goes out whole, or is recomputed;
/// partially, if so ruled, its first blocks go out as far as there is space. A request that keeps
/// its first blocks on the GPU has its last ones here.
///
/// The same space keeps turns whose tool runs, when the retention policy wants it: found by the
/// job's next turn as far as its tokens are the same, and gone with it.
class SwapTier final : public HostTier {
 public:
  SwapTier(const TierConfig& config, KvCache& kv, BlockCopier& copier,
           std::vector<KvEvent>& events);

  HostHit find(Request& request, int gpu_tokens) override;
  void load(Request& request, int gpu_blocks, int num_blocks) override;
  void forget(Request& request, Nanos now) override;
  void on_turn_finish(Request& request, Nanos now) override { forget(request, now); }
  bool keep_preempted(Request& request) override;
  bool keep_tail(Request& request) override;
  bool keep_finished(Request& request) override;

  std::span<const LoadedKv> before_execution(const StepPlan& plan, Clock& clock) override;
  void after_execution(const StepPlan& plan, Clock& clock) override;

  TransferStats take_stats() override { return transfers_.take_stats(); }
  int blocks_held() const override;
  int capacity() const override { return static_cast<int>(config_.host_blocks); }

 private:
  struct Swapped {
    const Request* request = nullptr;  // null: a turn in its gap
    JobId job{};
    int tokens = 0;                   // of the request, before and in the slots
    int first_block = 0;              // what lies before stayed on the GPU
    std::vector<HostSlot> slots{};    // of its blocks from there on
    std::vector<BlockHash> hashes{};  // a turn in its gap: of its blocks
    HostSlot slot_of(int block) const {
      return slots[static_cast<std::size_t>(block - first_block)];
    }
  };
  struct Load {
    TransferId id;
    Request* request;
    int gpu_blocks;
    std::vector<BlockCopy> copies;
  };
  using Entry = std::vector<Swapped>::iterator;
  Entry entry_of(const Request& request);
  Entry gap_of(JobId job);
  int known_tokens(const Swapped& gap, const Request& request) const;
  HostSlot store(BlockId block);
  void store_first(Swapped& entry, const Request& request, int count);
  void release(Entry entry);
  void copy_out(Clock& clock);
  void end_stores(int landed);
  void end_load(const Load& load, const TransferDone& done);

  TierConfig config_;
  KvCache& kv_;
  TransferQueue transfers_;
  TierEvents events_;
  SwapRates rates_;
  Nanos ready_{0};  // when the step's execution began
  std::vector<HostSlot> free_;
  std::vector<Swapped> swapped_;
  std::vector<BlockCopy> going_out_;
  std::vector<Load> loads_;
  std::vector<LoadedKv> failed_;
};

}  // namespace engine
