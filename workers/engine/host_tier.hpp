#pragma once
#include <span>
#include <vector>

#include "workers/engine/clock.hpp"
#include "workers/engine/request.hpp"
#include "workers/engine/step.hpp"
#include "workers/engine/transfer_queue.hpp"

namespace engine {

/// KV that host memory holds beyond what the GPU has of a request.
struct HostHit {
  int tokens = 0;
  bool blocking =
      false;            // loaded within the step that admits the request; otherwise it waits apart
  bool coming = false;  // it is being loaded already, to be found in the cache once it is there
};

/// A load that is over.
struct LoadedKv {
  Request* request;
  int tokens;             // so many leading tokens of the request have KV now
  bool failed;            // more had been asked for
  bool in_cache = false;  // they lie in the prefix cache, not in blocks of the request
};

/// KV in host memory, as scheduler and engine see it. The tier decides what is stored and when; the
/// scheduler decides which request gets blocks. Only the tier knows slots, chunks and the link.
class HostTier {
 public:
  virtual ~HostTier() = default;

  // Of the scheduler.
  /// A turn has arrived.
  virtual void on_arrival(const Request&, Nanos /*now*/) {}
  /// What could be loaded behind the first `gpu_tokens` tokens (whole blocks). Keeps it from
  /// eviction until load() or forget(); may be asked again in every step.
  virtual HostHit find(Request&, int /*gpu_tokens*/) { return {}; }
  /// The request has blocks for what find() told last, or for its first part: copies into the
  /// `num_blocks` blocks behind the first `gpu_blocks`.
  virtual void load(Request&, int /*gpu_blocks*/, int /*num_blocks*/) {}
  /// The request does not hold its blocks any more, or ends. Called before they are released.
  virtual void forget(Request&, Nanos /*now*/) {}
  /// The request is preempted and about to lose its blocks. True when the tier keeps what has been
  /// computed, for find() to tell.
  virtual bool keep_preempted(Request&) { return false; }
  /// The preempted request is about to lose the last block of its table, and keeps those before.
  /// True when the tier keeps it, for find() to tell.
  virtual bool keep_tail(Request&) { return false; }
  /// The finished turn is about to release its blocks. True when the tier keeps them for the job's
  /// next turn, for find() to tell.
  virtual bool keep_finished(Request&) { return false; }
  /// Something that no request holds but the tier keeps on the GPU gives its blocks back, for the
  /// sake of what else could not run. False when there is nothing of the kind.
  virtual bool give_way(KvReason /*pressure*/, Nanos /*now*/) { return false; }
  /// The turn is finished; its blocks are about to be released or pinned.
  virtual void on_turn_finish(Request&, Nanos /*now*/) {}

  // Of the engine, in this order in every step.
  /// Takes note of copies that are done; the loads among them. Valid until the next call.
  virtual std::span<const LoadedKv> poll(Nanos /*now*/) { return {}; }
  /// After scheduling and before execution: stores what earlier steps computed, and starts copies.
  /// A blocking tier waits here for its loads, and reports those that failed.
  virtual std::span<const LoadedKv> before_execution(const StepPlan&, Clock&) { return {}; }
  /// After execution: a blocking tier stores here, and waits.
  virtual void after_execution(const StepPlan&, Clock&) {}

  /// When the tier wants to act although nothing else happens.
  virtual Nanos wakeup() const { return Nanos::max(); }
  /// References to the block that are the tier's, copies apart.
  virtual int kept(BlockId) const { return 0; }
  /// Copies are under way.
  virtual bool busy() const { return false; }
  /// Waits for a copy, at most until `until`. Requires busy().
  virtual void wait(Clock&, Nanos /*until*/) {}
  virtual TransferStats take_stats() { return {}; }
  /// Blocks of host memory whose content can be found.
  virtual int blocks_held() const { return 0; }
  /// Blocks that it has room for.
  virtual int capacity() const { return 0; }
};

/// The tier of an engine without one: finds and stores nothing.
HostTier& no_tier();

}  // namespace engine
