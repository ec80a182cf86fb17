#include <algorithm>
#include <ranges>
#include <utility>

#include "workers/engine/cache/host_store.hpp"
#include "workers/engine/step/host_tier.hpp"
#include "workers/engine/step/tier_events.hpp"
#include "workers/engine/tiers/config.hpp"

namespace engine {
namespace {

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
              std::vector<KvEvent>& events)
      : config_(config),
        chunk_blocks_(config.chunk_tokens / kv.block_size()),
        kv_(kv),
        host_(static_cast<int>(config.host_blocks / chunk_blocks_), config.arc, config.eviction,
              kv.prefix_cache(), 0, HostUses::by_look_ups),
        transfers_(config.transfers, copier),
        events_(events) {
    if (config.eviction != nullptr)
      config.eviction->prepare(host_.num_slots(), chunk_blocks_, kv.block_size());
  }

  HostHit find(Request& request, int gpu_tokens) override {
    release_found(request);
    kv_.number_contents(request);
    if (!std::exchange(request.tier.looked_up, true)) {
      if (config_.eviction != nullptr) config_.eviction->on_lookup(request);
      std::vector<ContentId> prompt;
      for (int i = 0; config_.arc && i < request.num_prompt() / config_.chunk_tokens; ++i)
        prompt.push_back(content_of(request, i));
      host_.look_up(prompt);
    }
    const int chunks = request.num_tokens() / config_.chunk_tokens;
    for (int i = 0; i < chunks; ++i) {
      const ContentId content = content_of(request, i);
      const HostEntry* const known = host_.find(content);
      if (known == nullptr || !known->readable()) break;
      request.tier.found.push_back(host_.begin_read(content));
    }
    // Chunks that the host has are not stored again.
    request.tier.cursor = static_cast<int>(request.tier.found.size());
    // The last token is always computed, because its logits are needed.
    const int hit = std::min(request.tier.cursor * config_.chunk_tokens, request.num_tokens() - 1);
    if (hit > gpu_tokens) return {.tokens = hit - gpu_tokens};
    release_found(request);
    return {};
  }
  void load(Request& request, int gpu_blocks, int num_blocks) override {
    Load load{TransferId::none, &request, gpu_blocks, {}};
    for (int i = gpu_blocks; i < gpu_blocks + num_blocks; ++i) {
      const BlockId block = request.blocks[static_cast<std::size_t>(i)];
      const HostSlot chunk = request.tier.found[static_cast<std::size_t>(i / chunk_blocks_)];
      kv_.begin_copy(block);
      load.copies.push_back({block, block_slot(chunk, i)});
    }
    events_.add(KvEventKind::load, KvReason::demand, turn_of(request), num_blocks);
    loads_.push_back(std::move(load));
  }
  void forget(Request& request, Nanos) override {
    release_found(request);
    request.tier.cursor = 0;
  }

  void on_arrival(const Request& request, Nanos) override {
    if (config_.eviction != nullptr) config_.eviction->on_arrival(request);
  }
  void on_turn_finish(Request& request, Nanos now) override {
    if (config_.eviction != nullptr) config_.eviction->on_turn_finish(request, now);
    forget(request, now);
  }
  std::span<const LoadedKv> before_execution(const StepPlan& plan, Clock& clock) override {
    failed_.clear();
    if (!plan.scheduled.empty()) clock.advance(config_.schedule_overhead);
    if (loads_.empty()) return failed_;
    for (Load& load : loads_)
      load.id = transfers_.submit({CopyDirection::load, Urgency::demand}, load.copies);
    for (const TransferDone& done : transfers_.drain(clock))
      end_load(*std::ranges::find(loads_, done.id, &Load::id), done);
    loads_.clear();
    return failed_;
  }
  void after_execution(const StepPlan& plan, Clock& clock) override {
    for (const ScheduledRequest& share : plan.scheduled) {
      // Asynchronous: the request has ended or was preempted, and others may have its blocks.
      if (share.request->blocks.empty()) continue;
      if (share.num_tokens > 1 || config_.save_decode) {
        save(*share.request, (share.computed_before + share.num_tokens) / config_.chunk_tokens,
             clock.now());
      }
      release_found(*share.request);
    }
    wait_for_saves(clock);
  }

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
  /// Releases the chunks from the first one on that is `lost`, or all intact. The head of the chain
  /// comes last, so that it is the most recently used: the rest is useless without it.
  void release_found(Request& request, int lost = -1) {
    const int first = std::max(0, lost);
    for (auto i = static_cast<int>(request.tier.found.size()); i-- > first;)
      host_.end_read(request.tier.found[static_cast<std::size_t>(i)], lost < 0);
    request.tier.found.resize(std::min(request.tier.found.size(), static_cast<std::size_t>(first)));
  }
  void end_load(const Load& load, const TransferDone& done) {
    for (const BlockCopy& copy : std::views::reverse(load.copies)) kv_.end_copy(copy.block);
    if (!done.failed) return;
    Request& request = *load.request;
    const int intact = load.gpu_blocks + done.landed;
    release_found(request, intact / chunk_blocks_);
    request.tier.cursor = std::min(request.tier.cursor, intact / chunk_blocks_);
    events_.add(KvEventKind::load_failed, KvReason::load_failed, turn_of(request),
                static_cast<int>(load.copies.size()) - done.landed);
    failed_.push_back({&request, intact * kv_.block_size(), true});
  }
  /// Stores the request's chunks up to `end_chunk`, until no slot is free.
  void save(Request& request, int end_chunk, Nanos now) {
    if (config_.eviction != nullptr && request.tier.cursor < end_chunk)
      config_.eviction->on_computed(request, end_chunk * chunk_blocks_);
    kv_.number_contents(request);
    for (int& chunk = request.tier.cursor; chunk < end_chunk; ++chunk) {
      const ContentId content = content_of(request, chunk);
      if (host_.find(content) != nullptr) continue;
      const auto stored = host_.offer({&content, 1}, 0, turn_of(request), use_, now);
      if (!stored) return;
      const HostSlot slot = stored->front().slot;
      for (const HostStore::Evicted& lost : host_.evicted())
        events_.add(KvEventKind::evict_host, lost.unread ? KvReason::unread : KvReason::read,
                    lost.owner, turn_of(request), chunk_blocks_);
      saving_.push_back(slot);
      for (int i = chunk * chunk_blocks_; i < (chunk + 1) * chunk_blocks_; ++i) {
        const BlockId block = request.blocks[static_cast<std::size_t>(i)];
        kv_.begin_copy(block);
        to_save_.push_back({block, block_slot(slot, i)});
      }
      events_.add(KvEventKind::store, KvReason::write_through, turn_of(request), chunk_blocks_);
    }
  }
  void wait_for_saves(Clock& clock) {
    if (to_save_.empty()) return;
    clock.advance(config_.save_overhead);
    transfers_.submit({CopyDirection::store, Urgency::demand}, to_save_);
    const TransferDone done = transfers_.drain(clock).front();
    for (std::size_t i = 0; i < saving_.size(); ++i) {
      const bool whole = (static_cast<int>(i) + 1) * chunk_blocks_ <= done.landed;
      host_.end_write(saving_[i], whole);
    }
    for (const BlockCopy& copy : std::views::reverse(to_save_)) kv_.end_copy(copy.block);
    saving_.clear();
    to_save_.clear();
  }

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

}  // namespace

std::unique_ptr<HostTier> make_lmcache_tier(const TierConfig& config, KvCache& kv,
                                            BlockCopier& copier, std::vector<KvEvent>& events) {
  return std::make_unique<LmcacheTier>(config, kv, copier, events);
}

}  // namespace engine
