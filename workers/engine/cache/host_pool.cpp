#include "workers/engine/cache/host_pool.hpp"

#include <cassert>

namespace engine {

std::optional<HostSlot> HostPool::find(const BlockHash& hash) const {
  const auto block = found_.find(hash);
  if (!block) return std::nullopt;
  return slot_of(*block);
}

/// Puts the content that the rule evicts next at the head of the free list.
void HostPool::choose_victim(Nanos now) {
  const HostSlot victim = rule_->victim(now).value_or(slot_of(pool_.free_head()));
  rule_->on_evicted(victim);
  pool_.move_to_free_head(block_of(victim));
}

HostPool::Reserved HostPool::reserve(const BlockHash& hash, const TurnRef& owner, Nanos now) {
  if (rule_ != nullptr && would_evict()) choose_victim(now);
  const BlockId block = pool_.take();
  Reserved reserved{slot_of(block), std::nullopt};
  Slot& slot = slots_[index(reserved.slot)];
  if (found_.contains(block)) {
    reserved.evicted = {slot.owner, slot.unread};
    found_.erase(block);
  }
  arriving_.insert(hash, block);
  slot = {owner, true, false};
  return reserved;
}

void HostPool::publish(HostSlot slot) {
  const BlockId block = block_of(slot);
  const BlockHash hash = arriving_.hash_of(block);
  found_.insert(hash, block);
  arriving_.erase(block);
  pool_.release(block);
  if (rule_ != nullptr) rule_->on_stored(slot, hash);
}

void HostPool::abandon(HostSlot slot) {
  arriving_.erase(block_of(slot));
  release(slot);
}

void HostPool::unpublish(HostSlot slot) {
  if (!found_.contains(block_of(slot))) return;
  found_.erase(block_of(slot));
  if (rule_ != nullptr) rule_->on_invalid(slot);
}

void HostPool::hold(HostSlot slot) {
  assert(found_.contains(block_of(slot)));
  slots_[index(slot)].unread = slots_[index(slot)].evict_first = false;
  if (rule_ != nullptr && holders(slot) == 0) rule_->on_held(slot);
  pool_.touch(block_of(slot));
}

void HostPool::release(HostSlot slot) {
  const BlockId block = block_of(slot);
  if (!pool_.release(block) || rule_ == nullptr) return;
  // By a rule empty slots stand at the head.
  found_.contains(block) ? rule_->on_released(slot) : pool_.move_to_free_head(block);
}

void HostPool::evict_next(HostSlot slot) {
  assert(found_.contains(block_of(slot)) && holders(slot) == 0);
  slots_[index(slot)].evict_first = true;
  pool_.move_to_free_head(block_of(slot));
}

}  // namespace engine
