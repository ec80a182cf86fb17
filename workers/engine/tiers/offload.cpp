#include "workers/engine/tiers/offload.hpp"

#include <algorithm>
#include <cassert>
#include <ranges>
#include <utility>

namespace engine {

OffloadTier::OffloadTier(const TierConfig& config, int max_step_tokens, KvCache& kv,
                         BlockCopier& copier, std::vector<KvEvent>& events)
    : config_(config),
      scan_limit_(2 * kv.blocks_for(max_step_tokens)),
      kv_(kv),
      host_(static_cast<int>(config.host_blocks), kv.prefix_cache(), config.eviction),
      transfers_(config.transfers, copier),
      events_(events) {
  if (config.prefetch != nullptr)
    prefetcher_.emplace(*config.prefetch, kv_, host_, transfers_, events_);
  if (config.eviction != nullptr) config.eviction->prepare(host_.num_slots(), 1, kv.block_size());
}

void OffloadTier::on_arrival(const Request& request, Nanos now) {
  if (prefetcher_) prefetcher_->on_arrival(request, now);
  if (config_.eviction != nullptr) config_.eviction->on_arrival(request);
}

HostHit OffloadTier::find(Request& request, int gpu_tokens) {
  release_found(request);
  kv_.number_contents(request);
  if (config_.eviction != nullptr && !std::exchange(request.tier.looked_up, true))
    config_.eviction->on_lookup(request);
  if (prefetcher_ && prefetcher_->waits_for_fetch(request, gpu_tokens, now_))
    return {.coming = true};
  // Stops short of the last token, because its logits are needed.
  const int end = (request.num_tokens() - 1) / kv_.block_size();
  for (int i = gpu_tokens / kv_.block_size(); i < end; ++i) {
    const auto slot = host_.find(request.contents[static_cast<std::size_t>(i)]);
    if (!slot) break;
    host_.hold(*slot);
    request.tier.found.push_back(*slot);
  }
  const int tokens = static_cast<int>(request.tier.found.size()) * kv_.block_size();
  if (prefetcher_ && tokens > 0 && prefetcher_->better_recomputed(gpu_tokens, tokens)) {
    release_found(request);
    return {};
  }
  return {.tokens = tokens};
}

void OffloadTier::release_found(Request& request) {
  for (const HostSlot slot : request.tier.found) host_.release(slot);
  request.tier.found.clear();
}

void OffloadTier::load(Request& request, int gpu_blocks, int num_blocks) {
  auto& found = request.tier.found;
  assert(num_blocks > 0 && num_blocks <= static_cast<int>(found.size()));
  Load load{.request = &request, .gpu_blocks = gpu_blocks, .copies = {}};
  for (int i = 0; i < num_blocks; ++i) {
    const BlockId block = request.blocks[static_cast<std::size_t>(gpu_blocks + i)];
    kv_.begin_copy(block);
    // The copy takes over the lookup's hold on the slot.
    load.copies.push_back({block, found[static_cast<std::size_t>(i)]});
  }
  found.erase(found.begin(), found.begin() + num_blocks);
  release_found(request);
  load.id = transfers_.submit({CopyDirection::load, Urgency::demand}, load.copies);
  request.tier.load = static_cast<std::uint64_t>(load.id);
  events_.add(KvEventKind::load, KvReason::demand, turn_of(request), num_blocks);
  loads_.push_back(std::move(load));
  if (prefetcher_) prefetcher_->on_served(request, now_);
}

void OffloadTier::forget(Request& request, Nanos now) {
  if (prefetcher_) prefetcher_->forget(request);
  release_found(request);
  request.tier.cursor = 0;
  const TransferId id{std::exchange(request.tier.load, 0)};
  if (id == TransferId::none) return;
  const auto load = std::ranges::find(loads_, id, &Load::id);
  if (load == loads_.end()) return;
  load->request = nullptr;
  transfers_.cancel(id, now);
}

void OffloadTier::on_turn_finish(Request& request, Nanos now) {
  if (config_.store_mode != StoreMode::lazy && config_.tail_store) {
    store_computed(request, request.num_computed_tokens / kv_.block_size(), KvReason::tail);
    submit_stores();
    transfers_.submit_next(now);
  }
  if (prefetcher_) {
    kv_.number_contents(request);
    prefetcher_->on_turn_finish(request, now);
  }
  if (config_.eviction != nullptr) config_.eviction->on_turn_finish(request, now);
  release_found(request);
}

std::span<const LoadedKv> OffloadTier::before_execution(const StepPlan& plan, Clock& clock) {
  if (config_.store_mode != StoreMode::lazy) {
    for (const ScheduledRequest& share : plan.scheduled) {
      // Only blocks that earlier steps computed can be copied. An admitted request may have hit
      // blocks that this very step computes, so its blocks are stored from the next step on.
      if (share.kind != ScheduleKind::running) continue;
      store_computed(*share.request, share.computed_before / kv_.block_size(),
                     KvReason::write_through);
    }
  } else if (!plan.scheduled.empty() || plan.admitted_all()) {
    store_before_eviction(!plan.scheduled.empty());
  }
  submit_stores();
  if (prefetcher_) prefetcher_->plan(plan, clock.now());
  transfers_.submit_next(clock.now());
  if (!plan.scheduled.empty()) clock.advance(config_.schedule_overhead);
  return {};
}

/// Stores the blocks among the request's first `num_blocks` that have not been considered yet. A
/// block that finds no slot is tried again in the next step.
void OffloadTier::store_computed(Request& request, int num_blocks, KvReason reason) {
  if (config_.eviction != nullptr && request.tier.cursor < num_blocks)
    config_.eviction->on_computed(request, num_blocks);
  for (int& i = request.tier.cursor; i < num_blocks; ++i) {
    const BlockId block = request.blocks[static_cast<std::size_t>(i)];
    if (!kv_.prefix_cache().contains(block)) return;
    const bool own = kv_.owner(block) == turn_of(request);
    if (own && config_.store_mode == StoreMode::second_turn) continue;
    if (!try_store(block, turn_of(request), reason)) return;
  }
}

/// Walks the free list from where the last walk ended, and stores blocks that the host lacks. A
/// block leaves the free list while it is copied. While nothing runs, nothing is about to be
/// evicted from the GPU, and storing is not worth evicting other content from the host tier.
void OffloadTier::store_before_eviction(bool may_evict) {
  const BlockPool& pool = kv_.pool();
  if (cursor_ == BlockId{0} || pool.refs(cursor_) > 0) cursor_ = pool.free_head();
  BlockId block = cursor_;
  for (int visited = 0; visited < scan_limit_ && block != BlockId{0}; ++visited) {
    if (!may_evict && host_.would_evict()) return;
    const BlockId next = pool.next_free(block);
    cursor_ = block;
    if (kv_.prefix_cache().contains(block) &&
        !try_store(block, kv_.owner(block), KvReason::before_eviction))
      return;
    block = next;
  }
}

/// Stores a block with content. False when no slot is free; also true when the host has the
/// content, or soon will.
bool OffloadTier::try_store(BlockId block, const TurnRef& of, KvReason reason) {
  const ContentId content = kv_.prefix_cache().content_of(block);
  if (host_.has_or_expects(content)) return true;
  if (host_.num_free() == 0) return false;
  if (prefetcher_ && !prefetcher_->make_host_room(of, now_)) return false;
  const HostPool::Reserved reserved = host_.reserve(content, of, now_);
  if (reserved.evicted) {
    const auto& [owner, unread] = *reserved.evicted;
    events_.add(KvEventKind::evict_host, unread ? KvReason::unread : KvReason::read, owner, of, 1);
  }
  kv_.begin_copy(block);
  to_store_.push_back({block, reserved.slot});
  events_.add(KvEventKind::store, reason, of, 1);
  return true;
}

void OffloadTier::submit_stores() {
  if (to_store_.empty()) return;
  const TransferId id = transfers_.submit({CopyDirection::store, Urgency::background}, to_store_);
  stores_.push_back({id, std::move(to_store_)});
  to_store_.clear();
}

std::span<const LoadedKv> OffloadTier::poll(Nanos now) {
  loaded_.clear();
  now_ = now;
  for (const TransferDone& done : transfers_.poll(now)) {
    if (const auto store = std::ranges::find(stores_, done.id, &Store::id);
        store != stores_.end()) {
      end_store(*store, done.landed);
      stores_.erase(store);
    } else if (!prefetcher_ || !prefetcher_->on_transfer_done(done, now, loaded_)) {
      const auto load = std::ranges::find(loads_, done.id, &Load::id);
      end_load(*load, done);
      loads_.erase(load);
    }
  }
  if (prefetcher_) prefetcher_->expire(now);
  return loaded_;
}

void OffloadTier::end_store(const Store& store, int landed) {
  for (int i = 0; i < static_cast<int>(store.copies.size()); ++i) {
    const HostSlot slot = store.copies[static_cast<std::size_t>(i)].slot;
    i < landed ? host_.publish(slot) : host_.abandon(slot);
  }
  // Tail first, as requests free their blocks.
  for (const BlockCopy& copy : std::views::reverse(store.copies)) kv_.end_copy(copy.block);
}

void OffloadTier::end_load(Load& load, const TransferDone& done) {
  const auto count = static_cast<int>(load.copies.size());
  for (int i = 0; i < count; ++i) {
    const HostSlot slot = load.copies[static_cast<std::size_t>(i)].slot;
    // A slot that could not be read is not tried again.
    if (done.failed && i >= done.landed) host_.unpublish(slot);
    host_.release(slot);
  }
  for (const BlockCopy& copy : std::views::reverse(load.copies)) kv_.end_copy(copy.block);
  if (load.request == nullptr) return;
  load.request->tier.load = 0;
  if (done.failed) {
    events_.add(KvEventKind::load_failed, KvReason::load_failed, turn_of(*load.request),
                count - done.landed);
  }
  loaded_.push_back(
      {load.request, (load.gpu_blocks + done.landed) * kv_.block_size(), done.failed});
}

}  // namespace engine
