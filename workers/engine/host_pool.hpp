#pragma once
#include <optional>
#include <vector>

#include "workers/engine/block_pool.hpp"
#include "workers/engine/prefix_cache.hpp"

namespace engine {

/// Slots of host memory with what they hold: found by hash, least recently used first to go.
///
/// A slot that is reserved, or held by a lookup or a copy, is never evicted. Its content is found
/// only after publish(): the data must have arrived. A slot is as large as its user says (a block,
/// or a chunk of blocks); slots count from 0.
class HostPool {
 public:
  explicit HostPool(int num_slots)
      : pool_(num_slots + 1),
        found_(num_slots + 1),
        arriving_(num_slots + 1),
        slots_(static_cast<std::size_t>(num_slots)) {}

  int num_slots() const { return pool_.num_usable(); }
  /// Slots that can be reserved now: empty ones and those whose content may be evicted.
  int num_free() const { return pool_.num_free(); }
  /// The next slot to be reserved holds content.
  bool would_evict() const { return pool_.num_free() > 0 && found_.contains(pool_.free_head()); }
  /// The same, and the content was not given up by evict_next().
  bool would_evict_wanted() const {
    return would_evict() && !slots_[index(slot_of(pool_.free_head()))].given_up;
  }
  /// Slots whose content can be found.
  int num_published() const { return found_.num_blocks(); }

  std::optional<HostSlot> find(const BlockHash& hash) const;
  /// The content is here, or reserved for and on its way.
  bool has_or_expects(const BlockHash& hash) const {
    return found_.find(hash).has_value() || arriving_.find(hash).has_value();
  }

  struct Evicted {
    TurnRef owner;
    bool unread;  // not looked up since it was stored
  };
  struct Reserved {
    HostSlot slot;
    std::optional<Evicted> evicted;
  };
  /// Takes the least recently used slot for content of this hash. Requires num_free() > 0.
  Reserved reserve(const BlockHash& hash, const TurnRef& owner);
  /// The reserved slot's content has arrived: it can be found, and be evicted again.
  void publish(HostSlot slot);
  /// The content never arrived: the slot is empty.
  void abandon(HostSlot slot);

  /// The slot's content is no good: it is not found any more.
  void unpublish(HostSlot slot);

  /// Keeps the slot's content until release(), which makes it the most recently used.
  void hold(HostSlot slot);
  void release(HostSlot slot) { pool_.release(block_of(slot)); }
  /// This content, which nothing holds, is evicted before all other until it is looked up again.
  void evict_next(HostSlot slot);
  /// Whose turn stored the content.
  const TurnRef& owner(HostSlot slot) const { return slots_[index(slot)].owner; }
  int holders(HostSlot slot) const { return pool_.refs(block_of(slot)); }

 private:
  struct Slot {
    TurnRef owner;
    bool unread = false;
    bool given_up = false;
  };
  // The pool's null block is no slot.
  static BlockId block_of(HostSlot slot) { return BlockId{index(slot) + 1}; }
  static HostSlot slot_of(BlockId block) { return HostSlot{index(block) - 1}; }

  BlockPool pool_;
  PrefixCache found_, arriving_;
  std::vector<Slot> slots_;
};

}  // namespace engine
