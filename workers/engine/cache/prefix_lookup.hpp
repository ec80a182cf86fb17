#pragma once
#include <algorithm>
#include <span>
#include <vector>

#include "workers/engine/base/request.hpp"
#include "workers/engine/cache/block_pool.hpp"
#include "workers/engine/cache/prefix_cache.hpp"

namespace engine {

/// Remembers the blocks of the last prefix that was looked up, so that a request which waits for
/// room is not looked up block by block in every step. Hashes are chained: when the last block's
/// is equal, so are all before it. A remembered block is right until its content is erased, and
/// content that is registered meanwhile can only extend the prefix.
class PrefixLookup {
 public:
  explicit PrefixLookup(int num_blocks) : position_(static_cast<std::size_t>(num_blocks)) {}

  /// Cached blocks of the request's leading ones, at most `most`. Valid until the next call.
  std::span<const BlockId> find(const Request& request, int most, const PrefixCache& cache,
                                const BlockPool& pool) {
    const std::size_t limit = static_cast<std::size_t>(std::max(most, 0));
    const std::size_t known = std::min(limit, found_.size());
    const bool same = known > 0 && cache.hash_of(found_[known - 1]) ==
                                       request.block_hash(static_cast<int>(known) - 1);
    if (!same) drop_from(0, pool);
    while (found_.size() < limit) {
      const auto block = cache.find(request.block_hash(static_cast<int>(found_.size())));
      if (!block) break;
      found_.push_back(*block);
      position_[index(*block)] = static_cast<std::uint32_t>(found_.size());
      num_free_ += pool.refs(*block) == 0 ? 1 : 0;
    }
    return std::span<const BlockId>(found_).first(std::min(limit, found_.size()));
  }

  /// How many of these blocks are free.
  int count_free(std::span<const BlockId> blocks, const BlockPool& pool) const {
    if (blocks.data() == found_.data() && blocks.size() == found_.size()) return num_free_;
    return static_cast<int>(
        std::ranges::count_if(blocks, [&](BlockId block) { return pool.refs(block) == 0; }));
  }

  /// The block's content is erased.
  void on_erased(BlockId block, const BlockPool& pool) {
    if (const std::uint32_t position = position_[index(block)]; position > 0)
      drop_from(position - 1, pool);
  }
  /// The block is in use, or free, from now on; its references have been counted already.
  void on_used(BlockId block) { num_free_ -= position_[index(block)] > 0 ? 1 : 0; }
  void on_freed(BlockId block) { num_free_ += position_[index(block)] > 0 ? 1 : 0; }

  /// Whether a lookup of each remembered block would find it, and the free ones are counted.
  bool holds(const PrefixCache& cache, const BlockPool& pool) const {
    int free = 0;
    for (const BlockId block : found_) {
      if (!cache.contains(block) || cache.find(cache.hash_of(block)) != block) return false;
      free += pool.refs(block) == 0 ? 1 : 0;
    }
    return free == num_free_;
  }

 private:
  void drop_from(std::size_t first, const BlockPool& pool) {
    for (std::size_t i = first; i < found_.size(); ++i) {
      position_[index(found_[i])] = 0;
      num_free_ -= pool.refs(found_[i]) == 0 ? 1 : 0;
    }
    found_.resize(first);
  }

  std::vector<BlockId> found_;
  std::vector<std::uint32_t> position_;  // by block: behind it in found_; 0: not there
  int num_free_ = 0;                     // of found_
};

}  // namespace engine
