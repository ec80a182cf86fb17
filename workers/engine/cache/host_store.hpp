#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "workers/engine/base/intrusive_list.hpp"
#include "workers/engine/cache/host_eviction.hpp"
#include "workers/engine/cache/prefix_cache.hpp"

namespace engine {

/// A slot of host memory with its content, in the order in which contents leave.
struct HostEntry {
  static constexpr int kWriting = -1;

  ContentId content = ContentId::none;
  TurnRef owner{};
  std::uint32_t use = 0;  // LRU: number of the request that uses it, and of its position there
  int position = 0;
  int readers = kWriting;
  bool frequent = false;    // ARC: used by more than one request
  bool chosen = false;      // by evict_next()
  bool unread = true;       // not read since it was stored
  bool lost = false;        // it turned out to be unreadable, and leaves with its last reader
  std::uint64_t offer = 0;  // the last that named it
  Link<HostEntry> link{};

  bool readable() const { return readers >= 0 && !lost; }
};

/// One request's look-ups and stores of KV in host memory.
struct HostUse {
  enum Flag : std::uint8_t { seen = 1, inserted = 2, reused = 4, missed = 8, from_disk = 16 };
  std::vector<std::uint8_t> blocks;  // flags, by position
  std::uint32_t number = 0;          // LRU: from 1
  HostEntry begin{}, end{};          // LRU: stand around the blocks that it uses, until it ends

  std::uint8_t& at(int position) {
    const auto i = static_cast<std::size_t>(position);
    if (i >= blocks.size()) blocks.resize(i + 64);
    return blocks[i];
  }
  /// Whether the block was read from the disk for the request, which loads it now.
  bool take_from_disk(int position) {
    std::uint8_t& flags = at(position);
    const bool read = (flags & from_disk) != 0;
    flags &= static_cast<std::uint8_t>(~from_disk);
    return read;
  }
};

/// The events that use a content of host memory.
enum class HostUses : std::uint8_t {
  by_requests,  // a request's end, and what it found
  by_touches,   // each look-up and store of a request; by LRU each end of a copy, too
  by_look_ups,  // a request's first look-up; by LRU it is by_touches
};

/// Host memory: KV blocks, or chunks of blocks, by content, and what leaves it first. Nothing that
/// is written or read leaves.
///
/// By default as vLLM's OffloadingConnector: LRU and ARC count uses by requests and not by copies.
/// Differs from ARC as published (Megiddo and Modha): content stored again starts as recent, each
/// ghost list has num_slots entries, and a recent list exactly at its target length evicts.
class HostStore {
 public:
  /// Evicts by ARC if `arc`, else by the borrowed `rule` if given, else by LRU. Stores a content
  /// when it is offered for the `threshold`-th time.
  HostStore(int num_slots, bool arc, HostEviction* rule, const PrefixCache& numbers,
            int threshold = 0, HostUses uses = HostUses::by_requests);

  /// The content, which may be written or read at present; null where it is absent.
  const HostEntry* find(ContentId content) const {
    const bool known = index(content) < by_content_.size();
    const std::uint32_t slot = known ? by_content_[index(content)] : 0;
    return slot == 0 ? nullptr : &slots_[slot - 1];
  }
  HostSlot slot_of(const HostEntry& entry) const {
    return HostSlot{static_cast<std::uint32_t>(&entry - slots_.data())};
  }
  int num_slots() const { return static_cast<int>(slots_.size()); }
  /// Slots with content, those being written included.
  int num_used() const { return num_fresh_ - static_cast<int>(empty_.size()); }

  struct Stored {
    int position;
    HostSlot slot;
  };
  struct Evicted {
    HostSlot slot;
    ContentId content;
    TurnRef owner;
    bool unread;
  };
  /// A request offers its blocks from position `first` on: takes slots for those that it lacks,
  /// all or none, and evicts what must go. Empty where too little can go. The spans are valid until
  /// the next offer.
  std::optional<std::span<const Stored>> offer(std::span<const ContentId> contents, int first,
                                               const TurnRef& by, HostUse& use, Nanos now);
  /// By the last offer.
  std::span<const Evicted> evicted() const { return evicted_; }
  /// The content has been written, or not.
  void end_write(HostSlot slot, bool intact = true);

  /// The readable content is read until end_read().
  HostSlot begin_read(ContentId content);
  /// The request uses it.
  void use(HostSlot slot, int position, HostUse& use);
  /// Forgets a content that turned out to be unreadable, when nothing reads it any more.
  void end_read(HostSlot slot, bool intact = true);

  // For prefetch.
  /// Makes this content, which nothing reads or writes and a turn of the job stored, the next to be
  /// evicted, unless it is used again first. False where it is not such a content.
  bool evict_next(ContentId content, JobId job);
  /// Slots that are empty, or whose content evict_next() chose.
  int room() const { return num_slots() - num_used() + num_chosen_; }

  /// ARC by look-ups: a request looks for these contents for the first time. What it finds is used
  /// by more than one, the end of the context first; what was evicted makes its list longer.
  void look_up(std::span<const ContentId> contents);
  /// By touches: moves what nothing reads or writes to the end of the order, the end of the context
  /// first. By ARC as look_up(), but what is written stays as recent.
  void touch(std::span<const ContentId> contents);
  /// The request has ended, and uses nothing any more.
  void finish(std::span<const ContentId> contents, HostUse& uses);

  /// For checks. By LRU: slots with content, the next victim first. By ARC: the two lists, the
  /// lengths of their ghosts, and the wanted length of the first.
  std::vector<HostSlot> order(bool frequent = false) const;
  std::size_t num_ghosts(bool frequent) const { return lists_[frequent].ghosts.size(); }
  double wanted_recent() const { return wanted_recent_; }

 private:
  using Order = IntrusiveList<HostEntry, &HostEntry::link>;
  struct List {
    Order slots;
    std::map<std::uint64_t, ContentId> ghosts;  // ARC: of what was evicted, oldest first
    std::unordered_map<std::uint32_t, std::uint64_t> ghost_ages;
    void add_ghost(ContentId content, std::uint64_t age);
    bool remove_ghost(ContentId content);
  };

  HostEntry& at(HostSlot slot) { return slots_[index(slot)]; }
  HostEntry* entry_of(ContentId content) {
    return const_cast<HostEntry*>(std::as_const(*this).find(content));
  }
  bool evictable(const HostEntry& entry) const {
    return entry.readers == 0 && entry.offer != offers_;
  }
  /// LRU has an order of the requests; or each end of a copy is a use.
  bool ranks_requests() const { return !arc_ && uses_ == HostUses::by_requests; }
  bool ranks_copies() const { return !arc_ && uses_ == HostUses::by_touches; }
  void begin(HostUse& uses);
  void unlink(HostEntry& entry);
  void append(HostEntry& entry, bool frequent = false);
  void renew(HostEntry& entry, bool frequent = false);
  void place(HostEntry& entry, int position, HostUse& uses);
  void put_behind(HostEntry& before, HostEntry& entry, int position, const HostUse& uses);
  HostEntry& take_slot(ContentId content, const TurnRef& by);
  void remove(HostEntry& entry);
  void on_missed(ContentId content);
  void promote(std::span<const ContentId> contents);
  void forget_ghosts(ContentId content);
  bool make_room(int count, Nanos now);
  void choose_victims(int count);
  void ask_rule(int count, Nanos now);

  bool arc_;
  HostUses uses_;
  HostEviction* rule_;
  const PrefixCache& numbers_;
  int threshold_;
  std::vector<HostEntry> slots_;
  std::vector<std::uint32_t> by_content_;           // its slot, counted from 1; 0: absent
  std::unordered_map<std::uint32_t, int> offered_;  // times that a content was offered
  std::vector<HostSlot> empty_;                     // used before; the next to be taken at the end
  List lists_[2];  // ARC: used by one request, and by more; otherwise the first alone
  std::vector<Stored> stored_;
  std::vector<Evicted> evicted_;
  std::vector<HostEntry*> held_;  // named by this offer, and read by nothing
  std::vector<HostEntry*> victims_;
  double wanted_recent_ = 0;
  std::vector<std::uint64_t> ranks_of_{0};  // by number of a request; ascending in lists_[0]
  std::uint64_t ranks_ = 0, offers_ = 0;
  int num_idle_ = 0;  // neither written nor read
  int num_chosen_ = 0;
  int num_fresh_ = 0;          // slots that were taken once at least
  std::uint64_t touched_ = 0;  // rank after the last touch
  ContentId last_touched_ = ContentId::none;
};

}  // namespace engine
