#pragma once
#include <vector>

#include "workers/engine/cache/host_store.hpp"
#include "workers/engine/step/host_tier.hpp"
#include "workers/engine/step/tier_events.hpp"
#include "workers/engine/tiers/config.hpp"

namespace engine {

/// A host tier in chunks of many blocks, as LMCacheConnectorV1 uses it. Loads of the requests that
/// a step admits run before the step; chunks that its prefills complete are stored after it. All
/// requests of the step wait for both. KV of generated tokens is stored only with save_decode.
///
/// A chunk is identified by the content of its last block, which covers all blocks before it. A
/// request with one token in a step counts as decoding, even when that token is the last one of its
/// prompt.
class LmcacheTier final : public HostTier {
 public:
  LmcacheTier(const TierConfig& config, KvCache& kv, BlockCopier& copier,
              std::vector<KvEvent>& events);

  HostHit find(Request& request, int gpu_tokens) override;
  void load(Request& request, int gpu_blocks, int num_blocks) override;
  void forget(Request& request, Nanos now) override;

  void on_arrival(const Request& request, Nanos now) override;
  void on_turn_finish(Request& request, Nanos now) override;
  std::span<const LoadedKv> before_execution(const StepPlan& plan, Clock& clock) override;
  void after_execution(const StepPlan& plan, Clock& clock) override;

  bool blocking() const override { return true; }
  TransferStats take_stats() override { return transfers_.take_stats(); }
  HostUsage usage() const override {
    return {host_.num_used() * chunk_blocks_, host_.num_slots() * chunk_blocks_};
  }

 private:
  struct Load {
    TransferId id;
    Request* request;
    int gpu_blocks;
    std::vector<BlockCopy> copies;
  };
  ContentId content_of(const Request& request, int chunk) const {
    return request.contents[static_cast<std::size_t>((chunk + 1) * chunk_blocks_ - 1)];
  }
  HostSlot block_slot(HostSlot chunk, int block) const {
    return HostSlot{index(chunk) * static_cast<std::uint32_t>(chunk_blocks_) +
                    static_cast<std::uint32_t>(block % chunk_blocks_)};
  }
  void release_found(Request& request, int lost = -1);
  void end_load(const Load& load, const TransferDone& done);
  void save(Request& request, int end_chunk, Nanos now);
  void wait_for_saves(Clock& clock);

  TierConfig config_;
  int chunk_blocks_;
  KvCache& kv_;
  HostStore host_;  // a slot holds a chunk
  HostUse use_;     // says nothing, since each look-up is a use
  TransferQueue transfers_;
  TierEvents events_;
  std::vector<Load> loads_;
  std::vector<HostSlot> saving_;  // chunks of this step
  std::vector<BlockCopy> to_save_;
  std::vector<LoadedKv> failed_;
};

}  // namespace engine
