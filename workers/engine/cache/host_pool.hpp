#pragma once
#include <optional>
#include <vector>

#include "workers/engine/cache/block_pool.hpp"
#include "workers/engine/cache/host_eviction.hpp"
#include "workers/engine/cache/prefix_cache.hpp"

namespace engine {

/// The host pool: slots of pinned DRAM with their content, found by its number. Evicts the content
/// used least recently, or by a rule.
///
/// A slot that is reserved, or held by a lookup or a copy, is never evicted. find() sees its
/// content only after publish(), when the data has arrived. The owner of the pool sets what a slot
/// holds: a block, or a chunk of blocks. Slots count from 0.
class HostPool {
 public:
  /// Both borrowed: `numbers` numbers the contents, and `rule` says what is evicted; null: the
  /// content used least recently.
  HostPool(int num_slots, const PrefixCache& numbers, HostEviction* rule = nullptr)
      : pool_(num_slots + 1),
        slots_(static_cast<std::size_t>(num_slots) + 1),
        numbers_(numbers),
        rule_(rule) {}

  int num_slots() const { return pool_.num_usable(); }
  /// Slots that can be reserved now: empty ones and those with evictable content.
  int num_free() const { return pool_.num_free(); }
  /// Whether the next slot to be reserved holds content.
  bool would_evict() const {
    return pool_.num_free() > 0 && slots_[index(pool_.free_head())].stored;
  }
  /// The same, without content that evict_next() marked for eviction.
  bool would_evict_wanted() const {
    return would_evict() && !slots_[index(pool_.free_head())].evict_first;
  }
  /// Slots with content that find() sees.
  int num_published() const { return num_published_; }

  std::optional<HostSlot> find(ContentId content) const {
    const BlockId block = block_for(content);
    return slots_[index(block)].stored ? std::optional(slot_of(block)) : std::nullopt;
  }
  /// Whether the content is stored, or on its way into a reserved slot.
  bool has_or_expects(ContentId content) const { return block_for(content) != BlockId{0}; }

  struct Evicted {
    TurnRef owner;
    bool unread;  // not looked up since it was stored
  };
  struct Reserved {
    HostSlot slot;
    std::optional<Evicted> evicted;
  };
  /// Reserves a slot for the content, an empty one if there is any. Requires num_free() > 0, and
  /// that the pool neither has nor expects the content.
  Reserved reserve(ContentId content, const TurnRef& owner, Nanos now = {});
  /// The content of the reserved slot has arrived: find() sees it, and it can be evicted.
  void publish(HostSlot slot);
  /// The content did not arrive: empties the slot.
  void abandon(HostSlot slot);

  /// The content is invalid: find() must not return it.
  void unpublish(HostSlot slot);

  /// Holds the slot's content against eviction until release(), which makes it the most recently
  /// used.
  void hold(HostSlot slot);
  void release(HostSlot slot);
  /// Makes this content, which nothing holds, the next to be evicted, unless it is looked up again
  /// first.
  void evict_next(HostSlot slot);
  /// The turn that stored the content.
  const TurnRef& owner(HostSlot slot) const { return at(slot).owner; }
  int holders(HostSlot slot) const { return pool_.refs(block_of(slot)); }

 private:
  struct Slot {
    TurnRef owner;
    ContentId content = ContentId::none;  // stored, or expected
    bool stored = false;
    bool unread = false;
    bool evict_first = false;
  };
  // Block i + 1 of the pool is slot i: the null block is not a slot.
  static BlockId block_of(HostSlot slot) { return BlockId{index(slot) + 1}; }
  static HostSlot slot_of(BlockId block) { return HostSlot{index(block) - 1}; }
  Slot& at(HostSlot slot) { return slots_[index(block_of(slot))]; }
  const Slot& at(HostSlot slot) const { return slots_[index(block_of(slot))]; }
  BlockId block_for(ContentId content) const {
    return index(content) < blocks_.size() ? blocks_[index(content)] : BlockId{0};
  }
  void choose_victim(Nanos now);
  void forget(Slot& slot);

  BlockPool pool_;
  std::vector<BlockId> blocks_;  // by content, 4 bytes each: the block that has or expects it, or 0
  std::vector<Slot> slots_;      // by block
  const PrefixCache& numbers_;
  HostEviction* rule_;
  int num_published_ = 0;
};

}  // namespace engine
