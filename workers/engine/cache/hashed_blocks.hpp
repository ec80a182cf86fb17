#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "workers/engine/base/block_hash.hpp"
#include "workers/engine/base/ids.hpp"

namespace engine {

/// Finds the block that holds the content of a hash; of several the one inserted first.
///
/// The blocks themselves are the entries of a chained hash table, so it never allocates memory.
class HashedBlocks {
 public:
  explicit HashedBlocks(int num_blocks);

  std::optional<BlockId> find(const BlockHash& hash) const;
  bool contains(BlockId block) const { return prev_[index(block)] != 0; }
  const BlockHash& hash_of(BlockId block) const { return hashes_[index(block)]; }

  /// The block must hold nothing.
  void insert(const BlockHash& hash, BlockId block);
  /// The block must hold a content.
  void erase(BlockId block);

  int num_blocks() const { return num_blocks_; }

 private:
  /// Where a chain begins in next_.
  std::uint32_t chain_of(const BlockHash& hash) const {
    return first_chain_ + static_cast<std::uint32_t>(hash.low & mask_);
  }

  std::uint32_t first_chain_;
  std::uint64_t mask_;
  // Chains have the block inserted last in front. A link is a block, or 0 at the end.
  std::vector<std::uint32_t> next_;  // by block, then by chain: its first block
  std::vector<std::uint32_t> prev_;  // by block: the place in next_ that leads to it; 0: none,
                                     // since the block holds nothing
  std::vector<BlockHash> hashes_;
  int num_blocks_ = 0;
};

}  // namespace engine
