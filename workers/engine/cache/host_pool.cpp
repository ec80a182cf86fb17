#include "workers/engine/cache/host_pool.hpp"

#include <cassert>

namespace engine {

std::optional<HostSlot> HostPool::find(const BlockHash& hash) const {
  const auto block = found_.find(hash);
  if (!block) return std::nullopt;
  return slot_of(*block);
}

HostPool::Reserved HostPool::reserve(const BlockHash& hash, const TurnRef& owner) {
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
  found_.insert(arriving_.hash_of(block), block);
  arriving_.erase(block);
  pool_.release(block);
}

void HostPool::abandon(HostSlot slot) {
  arriving_.erase(block_of(slot));
  pool_.release(block_of(slot));
}

void HostPool::unpublish(HostSlot slot) {
  if (found_.contains(block_of(slot))) found_.erase(block_of(slot));
}

void HostPool::hold(HostSlot slot) {
  assert(found_.contains(block_of(slot)));
  slots_[index(slot)].unread = slots_[index(slot)].evict_first = false;
  pool_.touch(block_of(slot));
}

void HostPool::evict_next(HostSlot slot) {
  assert(found_.contains(block_of(slot)) && holders(slot) == 0);
  slots_[index(slot)].evict_first = true;
  pool_.move_to_free_head(block_of(slot));
}

}  // namespace engine
