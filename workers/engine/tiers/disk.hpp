#pragma once
#include <deque>
#include <span>
#include <vector>

#include "workers/engine/cache/disk_store.hpp"
#include "workers/engine/cache/host_store.hpp"
#include "workers/engine/step/block_disk.hpp"
#include "workers/engine/step/tier_events.hpp"

namespace engine {

/// A disk behind host memory. What host memory evicts is written to it, unless it is there; what a
/// request looks for is read back into slots of host memory, and found there when it has arrived.
/// The disk keeps what it has read.
///
/// A slot is written by others once its old content is on the disk. Decisions are made while a step
/// is scheduled; copies begin with begin().
class DiskTier {
 public:
  DiskTier(BlockDisk& disk, std::int64_t capacity, HostStore& host, TierEvents& events)
      : disk_(disk), store_(capacity), host_(host), events_(events) {}

  /// A request looks for these blocks from its position `first` on: reads those that the host
  /// lacks, up to the first that the disk lacks as well, or that has been read for it and evicted
  /// since: requests must not evict each other's for ever. False where nothing is read; then host
  /// memory may lack room.
  bool read_back(std::span<const ContentId> contents, int first, const TurnRef& by, HostUse& use,
                 Nanos now);
  /// The reads since the last call begin.
  void begin(Nanos now);
  /// Writes the victims of the host store's last offer. Returns when their slots are free.
  Nanos write_evicted(const TurnRef& by, Nanos now);
  /// Contents that have been read by now can be found in host memory.
  void finish(Nanos now);

  bool busy() const { return !reads_.empty(); }
  /// When the next read is done.
  Nanos next() const;

 private:
  struct Read {
    std::vector<DiskCopy> evicted;  // what its slots held, and the disk lacked
    std::vector<DiskCopy> copies;
    std::vector<HostSlot> unread;  // whose contents the disk has evicted since
    TurnRef by;
    Nanos ready = Nanos::max();  // until it has begun
  };
  std::vector<DiskCopy> take_evicted(const TurnRef& by);
  Nanos write(std::span<const DiskCopy> copies, Nanos now);
  void begin(Read& read, Nanos now);

  BlockDisk& disk_;
  DiskStore store_;
  HostStore& host_;
  TierEvents& events_;
  std::deque<Read> reads_;
  std::size_t num_begun_ = 0;  // the first of reads_
};

}  // namespace engine
