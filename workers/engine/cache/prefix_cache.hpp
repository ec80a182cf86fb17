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
  bool contains(BlockId block) const { return registered_[index(block)]; }
  const BlockHash& hash_of(BlockId block) const { return hashes_[index(block)]; }

  /// The block must not be registered yet.
  void insert(const BlockHash& hash, BlockId block);
  /// The block must be registered.
  void erase(BlockId block);

  int num_blocks() const { return num_blocks_; }
  /// Number of different hashes.
  int num_hashes() const { return num_hashes_; }

 private:
  std::uint32_t& bucket(const BlockHash& hash) { return buckets_[hash.low & mask_]; }

  std::uint64_t mask_;
  std::vector<std::uint32_t> buckets_;  // first block of the bucket's chain; 0 ends a chain
  std::vector<std::uint32_t> next_;
  std::vector<BlockHash> hashes_;
  std::vector<std::uint8_t> registered_;
  int num_blocks_ = 0;
  int num_hashes_ = 0;
};

}  // namespace engine
