#pragma once
#include <optional>

#include "workers/engine/base/request.hpp"

namespace engine {

/// Decides which content of the host tier is evicted when slots run out. The pool reports what
/// happens to slots, and the tier what happens to turns.
///
/// A slot holds `slot_blocks` KV blocks; its content has the hash of the last of them. It is within
/// reach of an eviction unless a lookup or a copy holds it.
class HostEviction {
 public:
  virtual ~HostEviction() = default;
  /// Called once, before all else.
  virtual void prepare(int num_slots, int slot_blocks, int block_size) = 0;
  /// The slot whose content is evicted next; empty: that used least recently. At least one is
  /// within reach.
  virtual std::optional<HostSlot> victim(Nanos now) = 0;

  // Slots.
  /// The content has arrived, and is within reach.
  virtual void on_stored(HostSlot slot, const BlockHash& content) = 0;
  /// The content, which was within reach, is evicted.
  virtual void on_evicted(HostSlot slot) = 0;
  /// The content, which was not within reach, turned out to be invalid.
  virtual void on_invalid(HostSlot slot) = 0;
  virtual void on_held(HostSlot slot) = 0;
  virtual void on_released(HostSlot slot) = 0;

  // Turns.
  virtual void on_arrival(const Request&) {}
  /// The turn looks for its KV for the first time.
  virtual void on_lookup(const Request&) {}
  /// The turn, which runs, has computed the KV of its first blocks, as many as that.
  virtual void on_computed(const Request&, int /*blocks*/) {}
  /// Called before the turn releases its blocks.
  virtual void on_turn_finish(const Request&, Nanos /*now*/) {}
};

}  // namespace engine
