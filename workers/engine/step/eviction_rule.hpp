#pragma once
#include <functional>
#include <memory>
#include <optional>

#include "workers/engine/base/request.hpp"

namespace engine {

class EvictionOrder;
class KvCache;
class QueueOrder;

/// A block's place in the order of eviction: the least value goes first, and of equals the block
/// that was released first.
struct EvictionRank {
  double value = 0;
  Nanos until = Nanos::max();  // when the rank must be asked for again: later than now
};

/// Ranks cached blocks without references for eviction. Whatever the ranks, a block is evicted
/// before the one that it continues, since a context is found from its first block on.
///
/// A rule keeps its own state of each block. A turn's i-th block holds its tokens from
/// i * block_size on.
class EvictionRule {
 public:
  virtual ~EvictionRule() = default;
  /// Called once and first: blocks have numbers up to `num_blocks`.
  virtual void prepare(int num_blocks, int block_size) = 0;
  virtual EvictionRank rank(BlockId block, Nanos now) const = 0;

  /// The turn computes the content of its i-th block.
  virtual void on_registered(const Request& /*turn*/, int /*i*/) {}
  /// The turn finds the content of its i-th block.
  virtual void on_hit(const Request& /*turn*/, int /*i*/) {}
  /// The turn, finished or preempted, is about to release its blocks.
  virtual void on_released(const Request& /*turn*/, Nanos /*now*/) {}
  /// The block can be evicted from now on. May name a block for which the same is true, to be
  /// ranked anew as if it were released now.
  virtual std::optional<BlockId> on_freed(BlockId) { return std::nullopt; }
  /// The block cannot be evicted any more: it is used again, or has been evicted.
  virtual void on_used(BlockId) {}
  virtual void on_evicted(BlockId) {}
};

/// Makes an order for this cache, which lives longer, as does the queue.
using EvictionOrderMaker =
    std::function<std::unique_ptr<EvictionOrder>(KvCache&, const QueueOrder&)>;

/// The order of evictions; at most one is set. Without either, the block released first is evicted
/// first.
struct EvictionChoice {
  EvictionOrderMaker order{};
  std::shared_ptr<EvictionRule> rule{};  // evicts the block of least rank
};

}  // namespace engine
