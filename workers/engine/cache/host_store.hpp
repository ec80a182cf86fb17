#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "workers/engine/cache/host_eviction.hpp"
#include "workers/engine/cache/prefix_cache.hpp"

namespace engine {

/// What one request has done with KV in host memory.
struct HostUse {
  enum Flag : std::uint8_t { seen = 1, inserted = 2, reused = 4, missed = 8 };
  std::vector<std::uint8_t> blocks;  // flags, by position
  std::uint64_t rank = 0;            // shared by all blocks that it uses; 0: none yet

  std::uint8_t& at(int position) {
    const auto i = static_cast<std::size_t>(position);
    if (i >= blocks.size()) blocks.resize(i + 1);
    return blocks[i];
  }
};

/// Host memory of vLLM's OffloadingConnector: KV blocks by content, and what leaves it first. LRU
/// and ARC count uses by requests and not by copies.
class HostStore {
 public:
  /// With `arc` by ARC, otherwise by LRU, or by the borrowed rule. A content is stored at its
  /// `threshold`-th offer.
  HostStore(int num_slots, bool arc, HostEviction* rule, const PrefixCache& numbers,
            int threshold = 0, bool by_touches = false);

  enum class State : std::uint8_t { absent, writing, ready };
  State state(ContentId content) const;
  /// Whether a load reads it.
  bool being_read(ContentId content) const { return readers_of(content) > 0; }
  int num_slots() const { return static_cast<int>(slots_.size()); }
  /// Slots with content, those being written included.
  int num_used() const { return num_used_; }

  struct Stored {
    int position;
    HostSlot slot;
  };
  struct Evicted {
    HostSlot slot;
    TurnRef owner;
    bool unread;
  };
  /// A request offers its blocks from position `first` on: takes slots for those that it lacks,
  /// all or none, and evicts what must go. Empty where too little can go. The spans are valid until
  /// the next offer.
  std::optional<std::span<const Stored>> offer(std::span<const ContentId> contents, int first,
                                               const TurnRef& by, HostUse& use, Nanos now);
  std::span<const Evicted> evicted() const { return evicted_; }

  /// A load by the request reads the ready content until end_read().
  HostSlot begin_read(ContentId content, int position, HostUse& use);
  /// Forgets a content that turned out to be unreadable.
  void end_read(ContentId content, bool intact = true);
  /// The content has been written, or not.
  void end_write(ContentId content, bool intact);
  // For prefetch.
  /// Makes this content, which nothing reads or writes and a turn of the job stored, the next to be
  /// evicted, unless it is used again first. False where it is not such a content.
  bool evict_next(ContentId content, JobId job);
  /// Slots that are empty, or whose content evict_next() chose.
  int room() const { return num_slots() - num_used_ + num_chosen_; }

  /// vLLM 0.26: moves what nothing reads or writes to the end of the order, the end of the context
  /// first.
  void touch(std::span<const ContentId> contents);
  /// The request has ended, and offers nothing any more.
  void finish(std::span<const ContentId> contents, const HostUse& use);

  /// For checks. By LRU: slots with content, the next victim first. By ARC: the two lists, the
  /// lengths of their ghosts, and the wanted length of the first.
  std::vector<HostSlot> order(bool frequent = false) const;
  std::size_t num_ghosts(bool frequent) const { return lists_[frequent].ghosts.size(); }
  double wanted_recent() const { return wanted_recent_; }

 private:
  using Rank = std::pair<std::uint64_t, int>;  // ascending; then the end of a context first
  using Order = std::set<std::pair<Rank, HostSlot>>;
  static constexpr int kWriting = -1;
  struct Slot {
    ContentId content = ContentId::none;
    TurnRef owner{};
    Rank rank{};
    Order::iterator place{};
    int readers = kWriting;
    bool frequent = false;
    bool unread = true;
    std::uint64_t offer = 0;  // the last that named it
  };
  struct List {
    Order slots;
    std::map<std::uint64_t, ContentId> ghosts;  // ARC: of what was evicted, oldest first
    std::unordered_map<std::uint32_t, std::uint64_t> ghost_ages;
    void add_ghost(ContentId content, std::uint64_t age);
    bool remove_ghost(ContentId content);
  };

  Slot& at(HostSlot slot) { return slots_[index(slot)]; }
  const Slot& at(HostSlot slot) const { return slots_[index(slot)]; }
  std::optional<HostSlot> find(ContentId content) const {
    const bool known = index(content) < by_content_.size();
    const std::uint32_t slot = known ? by_content_[index(content)] : 0;
    return slot == 0 ? std::nullopt : std::optional(HostSlot{slot - 1});
  }
  HostSlot slot_of(ContentId content) const { return find(content).value(); }
  int readers_of(ContentId content) const;
  bool chosen(const Slot& slot) const { return slot.rank.first == 0; }
  bool evictable(const Slot& slot) const { return slot.readers == 0 && slot.offer != offers_; }
  void use(ContentId content, int position, HostUse& use);
  void move_to(HostSlot slot, bool frequent, Rank rank);
  void insert(ContentId content, HostSlot slot, const TurnRef& by, Rank rank);
  HostSlot take_slot();
  void remove(HostSlot slot);
  void on_missed(ContentId content);
  bool make_room(int count, Nanos now);
  bool choose_victims(int count);
  bool ask_rule(int count, Nanos now);

  bool arc_;
  HostEviction* rule_;
  const PrefixCache& numbers_;
  int threshold_;
  bool by_touches_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> by_content_;           // its slot, counted from 1; 0: absent
  std::unordered_map<std::uint32_t, int> offered_;  // times that a content was offered
  std::vector<HostSlot> empty_;                     // used before; the next to be taken at the end
  List lists_[2];  // ARC: used by one request, and by more; LRU: the first alone
  std::vector<Stored> stored_;
  std::vector<Evicted> evicted_;
  std::vector<HostSlot> victims_;
  double wanted_recent_ = 0;
  std::uint64_t ranks_ = 0, offers_ = 0;
  int num_used_ = 0, num_fresh_ = 0;
  int chosen_ = 0, num_chosen_ = 0;  // by evict_next(): the last rank, and slots
  std::uint64_t touched_ = 0;        // rank after the last touch
  ContentId last_touched_ = ContentId::none;
};

}  // namespace engine
