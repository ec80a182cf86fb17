#pragma once
#include <cassert>
#include <cstdint>
#include <vector>

#include "workers/engine/base/ids.hpp"

namespace engine {

/// A fixed set of KV block slots with reference counts and an LRU free list.
///
/// A block is in the free list exactly when its reference count is 0. The list is ordered by time
/// of release: its head is allocated (and thereby evicted) first. The pool knows no hashes and no
/// policy. All operations are O(1), and none allocates memory.
class BlockPool {
 public:
  /// `num_blocks` includes the null block 0, which is never allocated: num_blocks - 1 are usable.
  explicit BlockPool(int num_blocks);

  int num_usable() const { return num_usable_; }
  int num_free() const { return num_free_; }
  int refs(BlockId block) const { return refs_[index(block)]; }

  /// Allocates the first `count` blocks of the free list, and passes each to `taken`, which must
  /// not change the pool. Requires num_free() >= count.
  template <class Taken>
  void take(int count, Taken&& taken) {
    assert(count <= num_free_);
    std::uint32_t block = next_[0];
    for (int i = 0; i < count; ++i) {
      const std::uint32_t next = next_[block];
      refs_[block] = 1;
      taken(BlockId{block});
      block = next;
    }
    next_[0] = block;
    prev_[block] = 0;
    num_free_ -= count;
  }
  /// Adds a reference; a free block leaves the free list.
  void touch(BlockId block);
  /// Drops a reference. Returns true when it was the last one: the block is at the tail of the free
  /// list.
  bool release(BlockId block);
  /// Moves a free block to the head of the free list: it is allocated next.
  void move_to_free_head(BlockId block);

  /// Walks the free list, next victim first.
  BlockId free_head() const { return BlockId{next_[0]}; }
  BlockId next_free(BlockId block) const { return BlockId{next_[index(block)]}; }

 private:
  void unlink(std::uint32_t block);
  void link_before(std::uint32_t block, std::uint32_t next);

  // The null block doubles as the list's sentinel: next_[0] is the head, prev_[0] the tail.
  std::vector<std::uint32_t> next_, prev_;
  std::vector<std::int32_t> refs_;
  int num_usable_;
  int num_free_;
};

}  // namespace engine
