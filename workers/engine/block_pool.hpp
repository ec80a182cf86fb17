#pragma once
#include <cstdint>
#include <vector>

#include "workers/engine/ids.hpp"

namespace engine {

/// A fixed set of KV block slots with reference counts and an LRU free list.
///
/// A block is in the free list exactly when nothing refers to it. The list is ordered by time of
/// release: its head is handed out (and thereby evicted) first. Knows no hashes and no policy. All
/// operations are O(1); none allocates.
class BlockPool {
 public:
  /// `num_blocks` includes the null block 0, which is never handed out: num_blocks - 1 are usable.
  explicit BlockPool(int num_blocks);

  int num_usable() const { return num_usable_; }
  int num_free() const { return num_free_; }
  int refs(BlockId block) const { return refs_[index(block)]; }

  /// Hands out the head of the free list with one reference. Requires num_free() > 0.
  BlockId take();
  /// One more reference; a free block leaves the free list.
  void touch(BlockId block);
  /// One reference less; returns true when that was the last and the block went to the tail of the
  /// free list.
  bool release(BlockId block);
  /// The free block is handed out next.
  void hand_out_next(BlockId block);

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
