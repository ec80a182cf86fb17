#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "workers/engine/base/block_hash.hpp"
#include "workers/engine/base/ids.hpp"

namespace engine {

/// Finds the resident block that holds the content of a hash.
///
/// Several blocks may hold the same content, since block tables are append-only and duplicates are
/// not merged; find() returns the one registered first. The blocks themselves are the entries of a
/// chained hash table, so it never allocates memory.
class PrefixCache {
 public:
  explicit PrefixCache(int num_blocks);

  std::optional<BlockId> find(const BlockHash& hash) const;
  bool contains(BlockId block) const { return prev_[index(block)] != 0; }
  const BlockHash& hash_of(BlockId block) const { return hashes_[index(block)]; }

  /// Brings what erase() of the block needs near. Changes nothing.
  void prefetch(BlockId block) const {
    __builtin_prefetch(&next_[prev_[index(block)]]);
    __builtin_prefetch(&next_[index(block)]);
  }

  /// The block must not be registered yet.
  void insert(const BlockHash& hash, BlockId block);
  /// The block must be registered.
  void erase(BlockId block);

  int num_blocks() const { return num_blocks_; }
  /// Number of different hashes. O(pool).
  int num_hashes() const;

 private:
  /// Where a chain begins in next_.
  std::uint32_t chain_of(const BlockHash& hash) const {
    return first_chain_ + static_cast<std::uint32_t>(hash.low & mask_);
  }

  std::uint32_t first_chain_;
  std::uint64_t mask_;
  // Chains have the block registered last in front. A link is a block, or 0 at the end.
  std::vector<std::uint32_t> next_;  // by block, then by chain: its first block
  std::vector<std::uint32_t> prev_;  // by block: the place in next_ that leads to it; 0: none,
                                     // since the block is not registered
  std::vector<BlockHash> hashes_;
  int num_blocks_ = 0;
};

}  // namespace engine
