#pragma once
#include <span>
#include <vector>

#include "workers/engine/base/clock.hpp"
#include "workers/engine/base/request.hpp"
#include "workers/engine/step/step.hpp"
#include "workers/engine/step/transfer_queue.hpp"

namespace engine {

/// KV in the host tier beyond what the GPU has of a request.
struct HostHit {
  int tokens = 0;
  bool blocking = false;  // loaded within the step that admits the request; otherwise the request
                          // waits in `loading`
  bool coming = false;    // a load is already in flight, and the prefix cache has the KV afterwards
};

/// A finished load.
struct LoadedKv {
  Request* request;
  int tokens;             // leading tokens of the request that have KV
  bool failed;            // fewer tokens arrived than were asked for
  bool in_cache = false;  // the KV is in the prefix cache, not in blocks of the request
};

/// The host tier, as scheduler and engine see it. The tier decides what is stored and when; the
/// scheduler decides which request gets blocks. Only the tier knows slots, chunks and the link.
class HostTier {
 public:
  virtual ~HostTier() = default;

  // Called by the scheduler.
  /// A turn has arrived.
  virtual void on_arrival(const Request&, Nanos /*now*/) {}
  /// KV that could be loaded behind the first `gpu_tokens` tokens (whole blocks). Holds it against
  /// eviction until load() or forget(). May be called again in every step.
  virtual HostHit find(Request&, int /*gpu_tokens*/) { return {}; }
  /// The request has blocks for all or the first part of what find() returned last: loads into the
  /// `num_blocks` blocks behind the first `gpu_blocks`.
  virtual void load(Request&, int /*gpu_blocks*/, int /*num_blocks*/) {}
  /// The blocks of the request are about to be released, or it ends.
  virtual void forget(Request&, Nanos /*now*/) {}
  /// The request is preempted, and its blocks are about to be released. True when the tier keeps
  /// the computed KV for find().
  virtual bool keep_preempted(Request&) { return false; }
  /// The last block of the preempted request is about to be released; the ones before it stay. True
  /// when the tier keeps that block for find().
  virtual bool keep_tail(Request&) { return false; }
  /// The finished turn is about to release its blocks. True when the tier keeps them for find() of
  /// the job's next turn.
  virtual bool keep_finished(Request&) { return false; }
  /// Releases GPU blocks that only the tier holds, so that a request can run. False when there are
  /// none.
  virtual bool give_way(KvReason /*pressure*/, Nanos /*now*/) { return false; }
  /// The turn is finished; its blocks are about to be released or pinned.
  virtual void on_turn_finish(Request&, Nanos /*now*/) {}

  // Called by the engine, in this order in every step.
  /// Handles completed copies and returns the loads among them. Valid until the next call.
  virtual std::span<const LoadedKv> poll(Nanos /*now*/) { return {}; }
  /// After scheduling and before execution: stores what earlier steps computed, and starts copies.
  /// A blocking tier waits for its loads here, and returns those that failed.
  virtual std::span<const LoadedKv> before_execution(const StepPlan&, Clock&) { return {}; }
  /// After execution: a blocking tier stores, and waits for its stores.
  virtual void after_execution(const StepPlan&, Clock&) {}

  /// When the tier must be called even if nothing else happens.
  virtual Nanos wakeup() const { return Nanos::max(); }
  /// References of the tier to the block, without those of copies.
  virtual int kept(BlockId) const { return 0; }
  /// Whether copies are in flight.
  virtual bool busy() const { return false; }
  /// Waits for a copy, at most until `until`. Requires busy().
  virtual void wait(Clock&, Nanos /*until*/) {}
  virtual TransferStats take_stats() { return {}; }
  /// Blocks of the host tier with content that find() sees.
  virtual int blocks_held() const { return 0; }
  /// Size of the host tier in blocks.
  virtual int capacity() const { return 0; }
};

/// The tier of an engine without a host tier: finds and stores nothing.
HostTier& no_tier();

}  // namespace engine
