#pragma once
#include <span>

#include "workers/engine/base/clock.hpp"
#include "workers/engine/base/request.hpp"
#include "workers/engine/step/step.hpp"
#include "workers/engine/step/transfer_queue.hpp"

namespace engine {

/// KV in the host tier beyond what the GPU has of a request.
struct HostHit {
  int tokens = 0;
  bool ask_again = false;  // copies must end first: the request is passed over
};

/// A finished load.
struct LoadedKv {
  Request* request;
  int tokens;   // leading tokens of the request that have KV
  bool failed;  // fewer tokens arrived than were asked for
};

/// Blocks of the host tier.
struct HostUsage {
  int used_blocks = 0;  // with content that find() sees
  int capacity_blocks = 0;
};

/// A tier that also keeps KV whose blocks are about to be released. Each function returns true when
/// the tier keeps it for find().
class SwapSpace {
 public:
  virtual ~SwapSpace() = default;
  /// The computed KV of a preempted request.
  virtual bool keep_preempted(Request& request) = 0;
  /// The last block of a preempted request; the ones before it stay on the GPU.
  virtual bool keep_tail(Request& request) = 0;
  /// The blocks of a finished turn, for the job's next turn.
  virtual bool keep_finished(Request& request) = 0;
};

/// A tier as vLLM's OffloadingConnector: holders of blocks for a load are served first, stores are
/// decided with the step, and blocks that a step in flight may write are not given to others.
class Connector {
 public:
  virtual ~Connector() = default;
  /// The step has its blocks: decides what is stored, and which copies must end before it runs.
  virtual void on_scheduled(const StepPlan& plan, Nanos now) = 0;
  /// Samples the copies while a step runs, or has run; visible after make_known().
  virtual void observe(Nanos now) = 0;
  /// Publishes the oldest sample, and returns its finished loads, valid until the next call.
  virtual std::span<const LoadedKv> make_known() = 0;

  // Loads ahead of their turns.
  /// When the tier must be called even if nothing else happens.
  virtual Nanos wakeup() const = 0;
  /// Releases the blocks of a load that no turn has used yet. False when there is none.
  virtual bool release_prefetched(KvReason pressure, Nanos now) = 0;
  /// References to the block by loads that no turn has used yet.
  virtual int kept(BlockId block) const = 0;
};

/// The host tier, as scheduler and engine see it. The tier decides what is stored and when; the
/// scheduler decides which request gets blocks. Only the tier knows slots, chunks and the link.
class HostTier {
 public:
  virtual ~HostTier() = default;

  // Duties of every tier.
  /// KV that could be loaded behind the first `gpu_tokens` tokens (whole blocks). Holds it against
  /// eviction until load() or forget(). May be called again in every step.
  virtual HostHit find(Request& request, int gpu_tokens) = 0;
  /// Called once the request has blocks for the first part, or all, of the last find(): loads
  /// `num_blocks` blocks behind the first `gpu_blocks`.
  virtual void load(Request& request, int gpu_blocks, int num_blocks) = 0;
  /// The blocks of the request are about to be released, or it ends.
  virtual void forget(Request& request, Nanos now) = 0;
  /// After scheduling and before execution: stores what earlier steps computed, and starts copies.
  /// A blocking tier waits for its loads here, and returns those that failed.
  virtual std::span<const LoadedKv> before_execution(const StepPlan& plan, Clock& clock) = 0;
  virtual HostUsage usage() const = 0;
  virtual TransferStats take_stats() = 0;

  // Duties of a tier with copies in the background.
  /// Before scheduling: handles completed copies and returns the loads among them. Valid until the
  /// next call.
  virtual std::span<const LoadedKv> poll(Nanos /*now*/) { return {}; }
  /// Whether copies are in flight.
  virtual bool busy() const { return false; }
  /// Waits for a copy, at most until `until`. Requires busy().
  virtual void wait(Clock&, Nanos /*until*/) {}

  // Optional.
  /// A turn has arrived, and waits.
  virtual void on_arrival(const Request&, Nanos /*now*/) {}
  /// The turn is finished; its blocks are about to be released or pinned.
  virtual void on_turn_finish(Request& request, Nanos now) { forget(request, now); }
  /// The request is aborted; its blocks are about to be released.
  virtual void on_aborted(Request& request, Nanos now) { forget(request, now); }
  /// After execution: a blocking tier stores, and waits for its stores.
  virtual void after_execution(const StepPlan&, Clock&) {}
  /// Whether its copies run between steps, none beside a step, and loads within the step that
  /// admits the request; with others the request waits in `loading`.
  virtual bool blocking() const { return false; }
  virtual SwapSpace* swap_space() { return nullptr; }
  virtual Connector* connector() { return nullptr; }
};

/// The tier of an engine without a host tier: finds and stores nothing.
class NoTier : public HostTier {
 public:
  HostHit find(Request&, int) override { return {}; }
  void load(Request&, int, int) override {}
  void forget(Request&, Nanos) override {}
  std::span<const LoadedKv> before_execution(const StepPlan&, Clock&) override { return {}; }
  HostUsage usage() const override { return {}; }
  TransferStats take_stats() override { return {}; }
};

}  // namespace engine
