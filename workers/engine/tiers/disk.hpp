#pragma once
#include <algorithm>
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
                 Nanos now) {
    const auto absent = [&](ContentId content) { return host_.find(content) == nullptr; };
    std::size_t count = 0;
    for (; count < contents.size(); ++count) {
      const bool read = (use.at(first + static_cast<int>(count)) & HostUse::from_disk) != 0;
      if (absent(contents[count]) && (read || !store_.contains(contents[count]))) break;
    }
    const auto known = contents.first(count);
    if (std::ranges::none_of(known, absent)) return false;
    const auto taken = host_.offer(known, first, by, use, now);
    if (!taken || taken->empty()) return false;
    Read& read = reads_.emplace_back();
    read.by = by;
    for (const auto& [position, slot] : *taken) {
      const ContentId content = known[static_cast<std::size_t>(position - first)];
      store_.use(content);
      use.at(position) |= HostUse::from_disk;
      read.copies.push_back({slot, content});
    }
    read.evicted = take_evicted(by);
    return true;
  }
  /// The reads since the last call begin.
  void begin(Nanos now) {
    for (; num_begun_ < reads_.size(); ++num_begun_) begin(reads_[num_begun_], now);
  }
  /// Writes the victims of the host store's last offer. Returns when their slots are free.
  Nanos write_evicted(const TurnRef& by, Nanos now) { return write(take_evicted(by), now); }
  /// Contents that have been read by now can be found in host memory.
  void finish(Nanos now) {
    for (; num_begun_ > 0 && reads_.front().ready <= now; --num_begun_) {
      for (const DiskCopy& copy : reads_.front().copies) host_.end_write(copy.slot);
      for (const HostSlot slot : reads_.front().unread) host_.end_write(slot, false);
      reads_.pop_front();
    }
  }

  bool busy() const { return !reads_.empty(); }
  /// When the next read is done.
  Nanos next() const { return reads_.empty() ? Nanos::max() : reads_.front().ready; }

 private:
  struct Read {
    std::vector<DiskCopy> evicted;  // what its slots held, and the disk lacked
    std::vector<DiskCopy> copies;
    std::vector<HostSlot> unread;  // whose contents the disk has evicted since
    TurnRef by;
    Nanos ready = Nanos::max();  // until it has begun
  };
  /// The host's last victims that the disk lacked.
  std::vector<DiskCopy> take_evicted(const TurnRef& by) {
    std::vector<DiskCopy> copies;
    for (const HostStore::Evicted& victim : host_.evicted()) {
      if (store_.use(victim.content)) continue;
      if (const auto gone = store_.insert(victim.content, victim.owner))
        events_.add(KvEventKind::evict_disk, KvReason::capacity, *gone, by, 1);
      events_.add(KvEventKind::disk_store, KvReason::before_eviction, victim.owner, by, 1);
      copies.push_back({victim.slot, victim.content});
    }
    return copies;
  }
  Nanos write(std::span<const DiskCopy> copies, Nanos now) {
    if (copies.empty()) return now;
    const Nanos done = disk_.write(copies, now);
    for (const DiskCopy& copy : copies) store_.set_written(copy.content, done);
    return done;
  }
  /// A content may have been evicted for victims of this or of a later read. A slot is free once
  /// the disk has what was in it.
  void begin(Read& read, Nanos now) {
    Nanos from = write(read.evicted, now);
    std::erase_if(read.copies, [&](const DiskCopy& copy) {
      const bool evicted = !store_.contains(copy.content);
      if (evicted) read.unread.push_back(copy.slot);
      return evicted;
    });
    if (!read.copies.empty())
      events_.add(KvEventKind::disk_load, KvReason::demand, read.by,
                  static_cast<int>(read.copies.size()));
    for (const DiskCopy& copy : read.copies) from = std::max(from, store_.written(copy.content));
    read.ready = read.copies.empty() ? from : disk_.read(read.copies, from);
  }

  BlockDisk& disk_;
  DiskStore store_;
  HostStore& host_;
  TierEvents& events_;
  std::deque<Read> reads_;
  std::size_t num_begun_ = 0;  // the first of reads_
};

}  // namespace engine
