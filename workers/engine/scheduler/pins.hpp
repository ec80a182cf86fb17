#pragma once
#include <cstdint>
#include <vector>

#include "workers/engine/cache/kv_cache.hpp"
#include "workers/engine/step/host_tier.hpp"
#include "workers/engine/step/queue_order.hpp"
#include "workers/engine/step/retention.hpp"
#include "workers/engine/step/step.hpp"

namespace engine {

/// Pins: KV of finished turns, kept on the GPU for the job's next turn. At most one pin per job.
///
/// The retention policy decides about a pin when a turn finishes. This class keeps the pin until
/// its time to live is over, the job moves on, or nothing could run otherwise.
class Pins {
 public:
  Pins(KvCache& kv, QueueOrder& order, RetentionPolicy& policy);

  int count() const { return num_pins_; }
  /// Blocks of all pins, and how many there may be.
  int num_blocks() const { return num_blocks_; }
  int most_blocks() const { return most_blocks_; }
  /// Counts pins made and ended.
  std::uint64_t num_changes() const { return num_changes_; }
  /// When the next time to live ends, if nothing happens before; Nanos::max() without pins.
  Nanos next_expiry() const;

  /// Drops pins with an expired time to live. O(1) when there is none.
  void expire(Nanos now);
  void on_arrival(const Request& request);    // the client submitted it
  void on_preempted(const Request& request);  // it waits again
  void on_admitted(const Request& request);   // it holds its own blocks
  void on_aborted(Request& request);
  /// A token in flight has ended it while it waited after a preemption.
  void on_ended_waiting(const Request& request) { --state_of(request.spec.job).waiting; }
  /// Pins the blocks of a finished turn, or the first of them as far as there may be more, offers
  /// them to the swap space, or releases them, as the policy decides.
  /// Where `late` is given, they are moved there instead of being released.
  void on_turn_finish(Request& request, Nanos now, SwapSpace* swap = nullptr,
                      std::vector<BlockId>* late = nullptr);
  /// Releases one pin so that a request can run. False when there is none.
  bool release_one(KvReason pressure);

  /// Events, until the engine clears them.
  std::vector<KvEvent>& events() { return events_; }
  /// Records an event of all blocks of the request.
  void record(KvEventKind kind, KvReason reason, const Request& request,
              Nanos deadline = Nanos{-1});

 private:
  struct Pin {
    bool active = false;
    bool overdue = false;  // expired, but protected while the job's next turn waits
    int turn = 0;
    Nanos deadline{0};
    Nanos job_arrival{0};
    std::vector<BlockId> blocks;
  };
  struct Deadline {
    Nanos at;
    JobId job;
    int turn;
  };
  struct JobState {
    Pin pin;
    int waiting = 0;  // its requests in the waiting queue
  };
  static bool later(const Deadline& a, const Deadline& b);
  JobState& state_of(JobId job);
  bool lapsed(const Deadline& due) const;
  void forget_lapsed();
  void release(JobId job, KvReason reason);
  void add(Request& request, const GapDecision& decision, int most);

  KvCache& kv_;
  QueueOrder& order_;
  RetentionPolicy& policy_;
  PinRules rules_;
  std::vector<JobState> jobs_;
  std::vector<Deadline> deadlines_;  // min-heap; its top belongs to an active pin
  std::vector<KvEvent> events_;
  int num_pins_ = 0, num_blocks_ = 0;
  int most_blocks_;
  std::uint64_t num_changes_ = 0;
};

}  // namespace engine
