#pragma once
#include "workers/engine/base/request.hpp"

namespace engine {

/// Decides which cached content is evicted when blocks run out. The cache reports what happens to
/// blocks with content, and the scheduler what happens to turns; an order listens to what it needs.
class EvictionOrder {
 public:
  virtual ~EvictionOrder() = default;
  /// The contents of the next `count` blocks from the head of the free list that have any are about
  /// to be evicted. May move other blocks to the head, with move_to_free_head().
  virtual void before_eviction(int count) = 0;

  // Blocks.
  /// The turn's i-th block is registered.
  virtual void on_registered(const Request&, int /*i*/) {}
  /// The turn shares its i-th block, which has content.
  virtual void on_hit(const Request&, int /*i*/) {}
  /// Nothing refers to the block any more: it can be evicted.
  virtual void on_freed(BlockId) {}
  /// Something refers to the block again.
  virtual void on_used(BlockId) {}
  /// The block, which is in use, is unregistered: its content will not be computed.
  virtual void on_unregistered(BlockId) {}

  // Turns.
  virtual void begin_step(Nanos /*now*/) {}
  virtual void on_arrival(const Request&) {}
  /// The turn has blocks of its own.
  virtual void on_admitted(const Request&) {}
  /// Called before the turn, which goes back to the queue, releases its blocks.
  virtual void on_preempted(const Request&) {}
  /// Called before the turn releases its blocks.
  virtual void on_turn_finish(const Request&, Nanos /*now*/) {}
  virtual void on_aborted(const Request&) {}
};

}  // namespace engine
