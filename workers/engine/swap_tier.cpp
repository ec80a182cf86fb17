#include "workers/engine/swap_tier.hpp"

#include <algorithm>
#include <ranges>

namespace engine {

SwapTier::SwapTier(const TierConfig& config, KvCache& kv, BlockCopier& copier,
                   std::vector<KvEvent>& events)
    : config_(config), kv_(kv), transfers_(config.transfers, copier), events_(events) {
  for (auto slot = static_cast<std::uint32_t>(config.host_blocks); slot > 0; --slot)
    free_.push_back(HostSlot{slot - 1});
}

int SwapTier::blocks_held() const {
  return static_cast<int>(config_.host_blocks) - static_cast<int>(free_.size());
}

std::vector<SwapTier::Swapped>::iterator SwapTier::entry_of(const Request& request) {
  return std::ranges::find(swapped_, &request, &Swapped::request);
}

/// The source blocks are free at once: the copy is through before anything is computed, and a step
/// that preempts loads nothing.
bool SwapTier::keep_preempted(Request& request) {
  const auto wanted = static_cast<std::size_t>(kv_.blocks_for(request.num_computed));
  const std::size_t count = std::min(wanted, free_.size());
  if (count == 0 || (count < wanted && !config_.swap_partially)) return false;
  Swapped entry{&request, request.num_computed, {}};
  for (std::size_t i = 0; i < count; ++i) {
    entry.slots.push_back(free_.back());
    going_out_.push_back({request.blocks[i], free_.back()});
    free_.pop_back();
  }
  if (count < wanted) entry.tokens = static_cast<int>(count) * kv_.block_size();
  swapped_.push_back(std::move(entry));
  events_.add(KvEventKind::store, KvReason::swapped_out, turn_of(request), static_cast<int>(count));
  return true;
}

HostHit SwapTier::find(Request& request, int gpu_tokens) {
  const auto entry = entry_of(request);
  if (entry == swapped_.end() || entry->tokens <= gpu_tokens) return {};
  return {entry->tokens - gpu_tokens, true};
}

void SwapTier::load(Request& request, int gpu_blocks, int num_blocks) {
  const auto& slots = entry_of(request)->slots;
  Load load{TransferId::none, &request, gpu_blocks, {}};
  for (int i = gpu_blocks; i < gpu_blocks + num_blocks; ++i) {
    const BlockId block = request.blocks[static_cast<std::size_t>(i)];
    kv_.begin_copy(block);
    load.copies.push_back({block, slots[static_cast<std::size_t>(i)]});
  }
  events_.add(KvEventKind::load, KvReason::demand, turn_of(request), num_blocks);
  loads_.push_back(std::move(load));
}

void SwapTier::forget(Request& request, Nanos) {
  const auto entry = entry_of(request);
  if (entry != swapped_.end()) release(entry);
}

std::span<const LoadedKv> SwapTier::before_execution(const StepPlan&, Clock& clock) {
  failed_.clear();
  if (!going_out_.empty()) {
    transfers_.submit({CopyDirection::store, Urgency::demand}, going_out_);
    end_stores(transfers_.drain(clock).front().landed);
  }
  for (Load& load : loads_)
    load.id = transfers_.submit({CopyDirection::load, Urgency::demand}, load.copies);
  if (loads_.empty()) return failed_;
  for (const TransferDone& done : transfers_.drain(clock))
    end_load(*std::ranges::find(loads_, done.id, &Load::id), done);
  loads_.clear();
  return failed_;
}

/// Who lost a block on the way out computes again.
void SwapTier::end_stores(int landed) {
  for (auto i = static_cast<std::size_t>(landed); i < going_out_.size(); ++i) {
    const HostSlot lost = going_out_[i].slot;
    const auto entry = std::ranges::find_if(swapped_, [&](const Swapped& swapped) {
      return std::ranges::find(swapped.slots, lost) != swapped.slots.end();
    });
    if (entry != swapped_.end()) release(entry);
  }
  going_out_.clear();
}

void SwapTier::release(std::vector<Swapped>::iterator entry) {
  free_.insert(free_.end(), entry->slots.rbegin(), entry->slots.rend());
  swapped_.erase(entry);
}

void SwapTier::end_load(const Load& load, const TransferDone& done) {
  for (const BlockCopy& copy : std::views::reverse(load.copies)) kv_.end_copy(copy.block);
  forget(*load.request, Nanos{0});
  if (!done.failed) return;
  events_.add(KvEventKind::load, KvReason::load_failed, turn_of(*load.request),
              static_cast<int>(load.copies.size()) - done.landed);
  failed_.push_back({load.request, (load.gpu_blocks + done.landed) * kv_.block_size(), true});
}

}  // namespace engine
