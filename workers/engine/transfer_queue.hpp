#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "workers/engine/block_copier.hpp"
#include "workers/engine/clock.hpp"

namespace engine {

/// Which transfer goes first on the link. Prefetches go by earliest deadline, others in order of
/// arrival.
enum class Urgency : std::uint8_t { demand, prefetch, background };

/// Copies that belong together, counted from 1 in order of submission.
enum class TransferId : std::uint64_t { none = 0 };

struct TransferKind {
  CopyDirection direction;
  Urgency urgency;
  Nanos deadline{0};  // prefetch: when the data should be there
};

/// A transfer that is over: nothing of it moves any more.
struct TransferDone {
  TransferId id;
  int landed;   // its first so many copies are whole; all of them unless cancelled or failed
  bool failed;  // a copy after the landed ones went wrong
};

/// Blocks that have arrived, and how long each direction of the link was busy with them.
struct TransferStats {
  int loaded_blocks = 0;
  int stored_blocks = 0;
  Nanos load_busy{0};
  Nanos store_busy{0};
};

struct TransferConfig {
  int quantum_blocks = 32;   // copies that cannot be interrupted
  int max_ahead = 0;         // quanta given to the copier before they move, a direction; 0: all
  Nanos block_load_time{0};  // as expected before anything was loaded
};

/// The two directions of the host link: copies in the order of their urgency, in quanta, over a
/// copier that knows order of submission alone.
///
/// Something more urgent takes back quanta that have not begun, where the copier can. Within a
/// transfer copies arrive in order, so that what has landed is always its beginning.
class TransferQueue {
 public:
  TransferQueue(const TransferConfig& config, BlockCopier& copier);

  /// Queues the copies; they move after the next hand_over(). At least one copy.
  TransferId submit(const TransferKind& kind, std::span<const BlockCopy> copies);
  /// A request now waits for this prefetch. No effect on a transfer that is over.
  void raise(TransferId id, Urgency urgency, Nanos now);
  /// Gives up what has not begun to move. The transfer is still reported as done.
  void cancel(TransferId id, Nanos now);

  /// Gives the copier what is to move next. Called before a step is executed, and after a poll.
  void hand_over(Nanos now);
  /// Transfers that are over since the last call. Valid until the next.
  std::span<const TransferDone> poll(Nanos now);

  bool busy() const { return num_open_ > 0; }
  /// Blocks of this direction that have not arrived, of transfers at least as urgent.
  int pending(CopyDirection direction, Urgency urgency) const;
  /// Transfers of this direction that are not over.
  int count(CopyDirection direction) const;
  /// What loading so many blocks takes, by what the last loads took.
  Nanos expected_load_time(int blocks) const {
    return Nanos{static_cast<std::int64_t>(block_load_ns_ * blocks)};
  }
  /// Waits, with nothing else to do, until a copy is done or `until`.
  void wait(Clock& clock, Nanos until);
  /// Waits until nothing is under way, and returns what is over then; see poll().
  std::span<const TransferDone> drain(Clock& clock);

  /// What has arrived since the last call.
  TransferStats take_stats();

 private:
  struct Transfer {
    TransferId id{};
    TransferKind kind{};
    std::vector<BlockCopy> copies;
    int handed = 0;   // copies given to the copier
    int arrived = 0;  // copies that came back
    int landed = 0;   // of these, whole ones before the first that failed
    bool failed = false;
    bool waiting = false;  // in the direction's waiting list
  };
  struct Quantum {
    CopyId copy;
    Transfer* transfer;
    int copies;
  };
  struct Direction {
    std::vector<Transfer*> waiting;  // by urgency, the next one last
    std::deque<Quantum> ahead;       // in the order of the copier
  };
  static bool sooner(const Transfer& a, const Transfer& b);
  Direction& direction_of(const Transfer& transfer) {
    return directions_[static_cast<std::size_t>(transfer.kind.direction)];
  }
  Transfer& new_transfer();
  Transfer* find(TransferId id);
  void enqueue(Transfer& transfer);
  void dequeue(Transfer& transfer);
  bool take_back_last(Direction& direction, Nanos now);
  void take_back_less_urgent(Direction& direction, Nanos now);
  void fill(Direction& direction, Nanos now);
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
  int num_open_ = 0;
};

}  // namespace engine
