// ARC as vLLM's offloading connector has it: content that one turn has used (recent) apart from
// content that another has looked up since (frequent), and the hashes of what was evicted from
// either. A turn that looks up what was evicted from one list makes it longer, at the cost of the
// other. Differs from Megiddo and Modha's: what is stored again starts as recent, each list of
// hashes has room for as many as there are slots, and a recent list of just the wanted length
// evicts.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "workers/policies/host_eviction/factory.hpp"

namespace policies {
namespace {

using engine::BlockHash;
using engine::HostSlot;
using engine::Request;

class Arc final : public engine::HostEviction {
 public:
  void prepare(int num_slots, int slot_blocks, int block_size) override {
    slots_.resize(static_cast<std::size_t>(num_slots));
    slot_blocks_ = slot_blocks;
    slot_tokens_ = slot_blocks * block_size;
  }

  std::optional<HostSlot> victim(engine::Nanos) override {
    const bool recent_first = recent_.length >= static_cast<int>(wanted_recent_);
    for (const List* list :
         {recent_first ? &recent_ : &frequent_, recent_first ? &frequent_ : &recent_})
      if (!list->within_reach.empty()) return HostSlot{list->within_reach.begin()->second};
    return std::nullopt;
  }

  void on_stored(HostSlot slot, const BlockHash& content) override {
    for (Ghosts* ghosts : {&recent_.evicted, &frequent_.evicted}) ghosts->forget(content);
    known_[content] = slot;
    slots_[index(slot)] = {.content = content};
    enter(recent_, slot);
    on_released(slot);
  }
  void on_evicted(HostSlot slot) override {
    List& list = list_of(slot);
    on_held(slot);
    leave(slot);
    list.evicted.add(slots_[index(slot)].content, ++uses_, slots_.size());
  }
  void on_invalid(HostSlot slot) override { leave(slot); }
  void on_held(HostSlot slot) override {
    list_of(slot).within_reach.erase({slots_[index(slot)].used, index(slot)});
    slots_[index(slot)].held = true;
  }
  void on_released(HostSlot slot) override {
    list_of(slot).within_reach.emplace(slots_[index(slot)].used, index(slot));
    slots_[index(slot)].held = false;
  }

  /// Of all content of the prompt, the end first, so that its start is evicted last.
  void on_lookup(const Request& turn) override {
    for (int i = turn.num_prompt() / slot_tokens_; i > 0; --i)
      look_up(turn.block_hash(i * slot_blocks_ - 1));
  }

 private:
  struct HashOf {
    std::size_t operator()(const BlockHash& hash) const { return hash.low; }
  };
  /// Hashes of evicted content, by age.
  class Ghosts {
   public:
    double size() const { return static_cast<double>(by_age_.size()); }
    bool contains(const BlockHash& hash) const { return ages_.contains(hash); }
    void add(const BlockHash& hash, std::uint64_t now, std::size_t most) {
      forget(hash);
      ages_[hash] = now;
      by_age_[now] = hash;
      if (by_age_.size() > most) forget(BlockHash(by_age_.begin()->second));
    }
    void forget(const BlockHash& hash) {
      const auto age = ages_.find(hash);
      if (age == ages_.end()) return;
      by_age_.erase(age->second);
      ages_.erase(age);
    }

   private:
    std::unordered_map<BlockHash, std::uint64_t, HashOf> ages_;
    std::map<std::uint64_t, BlockHash> by_age_;
  };
  struct List {
    int length = 0;
    std::set<std::pair<std::uint64_t, std::uint32_t>> within_reach;  // slots by last use
    Ghosts evicted;
  };
  struct Slot {
    BlockHash content;
    std::uint64_t used = 0;
    bool frequent = false;
    bool held = true;
  };

  List& list_of(HostSlot slot) { return slots_[index(slot)].frequent ? frequent_ : recent_; }
  void enter(List& list, HostSlot slot) {
    slots_[index(slot)].frequent = &list == &frequent_;
    slots_[index(slot)].used = ++uses_;
    ++list.length;
  }
  void leave(HostSlot slot) {
    --list_of(slot).length;
    known_.erase(slots_[index(slot)].content);
  }
  void use(HostSlot slot) {
    const bool held = slots_[index(slot)].held;
    if (!held) on_held(slot);
    --list_of(slot).length;
    enter(frequent_, slot);
    if (!held) on_released(slot);
  }
  void look_up(const BlockHash& content) {
    if (const auto slot = known_.find(content); slot != known_.end()) return use(slot->second);
    const double recent = recent_.evicted.size(), frequent = frequent_.evicted.size();
    if (recent_.evicted.contains(content)) {
      wanted_recent_ = std::min(static_cast<double>(slots_.size()),
                                wanted_recent_ + std::max(1.0, frequent / recent));
      recent_.evicted.add(content, ++uses_, slots_.size());
    } else if (frequent_.evicted.contains(content)) {
      wanted_recent_ = std::max(0.0, wanted_recent_ - std::max(1.0, recent / frequent));
      frequent_.evicted.add(content, ++uses_, slots_.size());
    }
  }

  int slot_blocks_ = 1, slot_tokens_ = 1;
  std::vector<Slot> slots_;
  std::unordered_map<BlockHash, HostSlot, HashOf> known_;
  List recent_, frequent_;
  double wanted_recent_ = 0;  // length of the recent list
  std::uint64_t uses_ = 0;
};

}  // namespace

std::unique_ptr<engine::HostEviction> make_host_arc_rule(const HostEvictionConfig&) {
  return std::make_unique<Arc>();
}

}  // namespace policies
