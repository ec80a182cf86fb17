#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "workers/engine/base/clock.hpp"
#include "workers/engine/step/block_copier.hpp"

namespace engine {

/// Priority of a transfer on the link. Prefetches are ordered by earliest deadline, others by
/// submission.
enum class Urgency : std::uint8_t { demand, prefetch, background };

/// Copies that belong together, counted from 1 in order of submission.
enum class TransferId : std::uint64_t { none = 0 };

struct TransferKind {
  CopyDirection direction;
  Urgency urgency;
  Nanos deadline{0};  // prefetch: when the data should have arrived
};

/// A transfer that is over: none of its copies is in flight.
struct TransferDone {
  TransferId id;
  int landed;   // leading copies that arrived intact; all of them unless cancelled or failed
  bool failed;  // the copy after the landed ones failed
};

/// Blocks that have arrived, and the time that each direction of the link spent on them.
struct TransferStats {
  int loaded_blocks = 0;
  int stored_blocks = 0;
  Nanos load_busy{0};
  Nanos store_busy{0};
};

struct TransferConfig {
  int quantum_blocks = 32;   // copies submitted as one batch, which cannot be interrupted
  int max_ahead = 0;         // most quanta queued at the copier per direction; 0: unlimited
  Nanos block_load_time{0};  // estimate until something has been loaded
};

/// The two directions of the host link: orders copies by urgency and submits them in quanta to a
/// copier, which serves in order of submission alone.
///
/// A more urgent transfer makes the queue withdraw quanta that have not started, if the copier can.
/// Copies of a transfer arrive in order, so the landed ones are always its first.
class TransferQueue {
 public:
  TransferQueue(const TransferConfig& config, BlockCopier& copier);

  /// Queues the copies; they start after the next submit_next(). At least one copy.
  TransferId submit(const TransferKind& kind, std::span<const BlockCopy> copies);
  /// Raises the urgency, because a request waits for this prefetch. No effect on a transfer that is
  /// over.
  void raise(TransferId id, Urgency urgency, Nanos now);
  /// Drops the copies that have not started. The transfer is still reported as done.
  void cancel(TransferId id, Nanos now);

  /// Submits the next quanta to the copier. Called before a step is executed, and after a poll.
  void submit_next(Nanos now);
  /// Transfers that ended since the last call. Valid until the next.
  std::span<const TransferDone> poll(Nanos now);

  bool busy() const { return !open_.empty(); }
  /// Whether poll() reports nothing: neither now, nor later without another submission.
  bool idle() const { return !busy() && over_.empty(); }
  /// Blocks of this direction that have not arrived, in transfers at least as urgent.
  int pending(CopyDirection direction, Urgency urgency) const;
  /// Number of transfers of this direction that are not over.
  int count(CopyDirection direction) const;
  /// Time to load this many blocks, estimated from recent loads.
  Nanos expected_load_time(int blocks) const {
    return Nanos{static_cast<std::int64_t>(block_load_ns_ * blocks)};
  }
  /// Waits until a copy is done or `until`.
  void wait(Clock& clock, Nanos until);
  /// Waits until the transfer, and all before it, are over; poll() reports them.
  void finish(TransferId id, Clock& clock);
  /// Waits until nothing is in flight, and returns the transfers that ended; see poll().
  std::span<const TransferDone> drain(Clock& clock);

  /// Statistics of what has arrived since the last call.
  TransferStats take_stats();

 private:
  struct Transfer {
    TransferId id{};
    TransferKind kind{};
    std::vector<BlockCopy> copies;
    int handed = 0;   // copies submitted to the copier
    int arrived = 0;  // copies that completed
    int landed = 0;   // of these, copies before the first that failed
    bool failed = false;
    bool waiting = false;  // in the direction's waiting list
  };
  struct Quantum {
    CopyId copy;
    Transfer* transfer;
    int copies;
  };
  struct Direction {
    std::vector<Transfer*> waiting;  // by urgency, the next to submit at the end
    std::deque<Quantum> ahead;       // submitted, in the copier's order
  };
  static bool sooner(const Transfer& a, const Transfer& b);
  Direction& direction_of(const Transfer& transfer) {
    return directions_[static_cast<std::size_t>(transfer.kind.direction)];
  }
  Transfer& new_transfer();
  Transfer* find(TransferId id);
  void enqueue(Transfer& transfer);
  void dequeue(Transfer& transfer);
  bool withdraw_last(Direction& direction, Nanos now);
  void withdraw_less_urgent(Direction& direction, Nanos now);
  void fill(Direction& direction, Nanos now);
  void collect(Nanos now);
  void on_arrived(Direction& direction, const CopyDone& done);
  void finish_if_over(Transfer& transfer);

  TransferConfig config_;
  BlockCopier& copier_;
  std::array<Direction, 2> directions_;  // by CopyDirection
  std::deque<Transfer> transfers_;       // stable addresses
  std::vector<Transfer*> open_, reusable_;
  std::vector<CopyDone> copies_done_;
  std::vector<TransferDone> over_, reported_;
  TransferStats stats_;
  double block_load_ns_;
  std::uint64_t num_submitted_ = 0;
};

}  // namespace engine
