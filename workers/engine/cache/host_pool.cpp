#include "workers/engine/cache/host_pool.hpp"

#include <cassert>
#include <utility>

namespace engine {

/// Puts the content that the rule evicts next at the head of the free list.
void HostPool::choose_victim(Nanos now) {
  const HostSlot victim = rule_->victim(now).value_or(slot_of(pool_.free_head()));
  rule_->on_evicted(victim);
  pool_.move_to_free_head(block_of(victim));
}

void HostPool::forget(Slot& slot) {
  blocks_[index(std::exchange(slot.content, ContentId::none))] = BlockId{0};
  num_published_ -= std::exchange(slot.stored, false) ? 1 : 0;
}

HostPool::Reserved HostPool::reserve(ContentId content, const TurnRef& owner, Nanos now) {
  assert(content != ContentId::none && !has_or_expects(content));
  if (rule_ != nullptr && would_evict()) choose_victim(now);
  const BlockId block = pool_.take();
  Reserved reserved{slot_of(block), std::nullopt};
  Slot& slot = slots_[index(block)];
  if (slot.stored) {
    reserved.evicted = {slot.owner, slot.unread};
    forget(slot);
  }
  if (index(content) >= blocks_.size()) blocks_.resize(numbers_.room());
  blocks_[index(content)] = block;
  slot = {.owner = owner, .content = content, .unread = true};
  return reserved;
}

void HostPool::publish(HostSlot slot) {
  at(slot).stored = true;
  ++num_published_;
  pool_.release(block_of(slot));
  if (rule_ != nullptr) rule_->on_stored(slot, numbers_.hash_of(at(slot).content));
}

void HostPool::abandon(HostSlot slot) {
  forget(at(slot));
  release(slot);
}

void HostPool::unpublish(HostSlot slot) {
  if (!at(slot).stored) return;
  forget(at(slot));
  if (rule_ != nullptr) rule_->on_invalid(slot);
}

void HostPool::hold(HostSlot slot) {
  assert(at(slot).stored);
  at(slot).unread = at(slot).evict_first = false;
  if (rule_ != nullptr && holders(slot) == 0) rule_->on_held(slot);
  pool_.touch(block_of(slot));
}

void HostPool::release(HostSlot slot) {
  const BlockId block = block_of(slot);
  if (!pool_.release(block) || rule_ == nullptr) return;
  // By a rule empty slots stand at the head.
  at(slot).stored ? rule_->on_released(slot) : pool_.move_to_free_head(block);
}

void HostPool::evict_next(HostSlot slot) {
  assert(at(slot).stored && holders(slot) == 0);
  at(slot).evict_first = true;
  pool_.move_to_free_head(block_of(slot));
}

}  // namespace engine
