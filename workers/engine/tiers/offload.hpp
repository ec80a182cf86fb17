#pragma once
#include <optional>
#include <vector>

#include "workers/engine/cache/host_pool.hpp"
#include "workers/engine/prefetch/prefetcher.hpp"
#include "workers/engine/step/tier_events.hpp"
#include "workers/engine/tiers/config.hpp"

namespace engine {

/// A host tier in KV blocks, as vLLM's SimpleCPUOffloadConnector uses it. Full blocks are stored in
/// the background, a request with a host hit waits in `loading` while its blocks are loaded, and
/// copies take effect at step boundaries alone.
///
/// Differs from that connector where it is not safe. Blocks that the last step of a turn completed
/// are stored as well (tail_store). A block with a copy in flight belongs to the copy until it is
/// done. Nothing is stored lazily while requests wait and nothing runs, so that free blocks stay
/// available to them.
class OffloadTier final : public HostTier {
 public:
  OffloadTier(const TierConfig& config, int max_step_tokens, KvCache& kv, BlockCopier& copier,
              std::vector<KvEvent>& events);

  HostHit find(Request& request, int gpu_tokens) override;
  void load(Request& request, int gpu_blocks, int num_blocks) override;
  void forget(Request& request, Nanos now) override;
  void on_turn_finish(Request& request, Nanos now) override;

  std::span<const LoadedKv> poll(Nanos now) override;
  std::span<const LoadedKv> before_execution(const StepPlan& plan, Clock& clock) override;

  void on_arrival(const Request& request, Nanos now) override;
  bool busy() const override { return transfers_.busy(); }
  void wait(Clock& clock, Nanos until) override {
    transfers_.wait(clock, prefetcher_ ? std::min(until, prefetcher_->wakeup()) : until);
  }
  Prefetching* prefetching() override { return prefetcher_ ? &*prefetcher_ : nullptr; }
  TransferStats take_stats() override { return transfers_.take_stats(); }
  HostUsage usage() const override { return {host_.num_published(), host_.num_slots()}; }
  const HostPool& host() const { return host_; }

 private:
  struct Load {
    TransferId id{};
    Request* request;  // null when no request waits for it any more
    int gpu_blocks;
    std::vector<BlockCopy> copies;
  };
  struct Store {
    TransferId id;
    std::vector<BlockCopy> copies;
  };
  void release_found(Request& request);
  void store_computed(Request& request, int num_blocks, KvReason reason);
  void store_before_eviction(bool may_evict);
  bool try_store(BlockId block, const TurnRef& of, KvReason reason);
  void submit_stores();
  void end_load(Load& load, const TransferDone& done);
  void end_store(const Store& store, int landed);

  TierConfig config_;
  int scan_limit_;  // free blocks that a lazy step considers
  KvCache& kv_;
  HostPool host_;
  TransferQueue transfers_;
  TierEvents events_;
  std::optional<Prefetcher> prefetcher_;
  std::vector<Load> loads_;
  std::vector<Store> stores_;
  std::vector<BlockCopy> to_store_;
  std::vector<LoadedKv> loaded_;
  Nanos now_{0};       // start of the step
  BlockId cursor_{0};  // lazy: position of the walk over the free list
};

}  // namespace engine
