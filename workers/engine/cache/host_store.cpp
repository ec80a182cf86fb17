#include "workers/engine/cache/host_store.hpp"

#include <algorithm>
#include <cassert>
#include <ranges>
#include <utility>

namespace engine {

HostStore::HostStore(int num_slots, bool arc, HostEviction* rule, const PrefixCache& numbers,
                     int threshold, bool by_touches)
    : arc_(arc),
      rule_(rule),
      numbers_(numbers),
      threshold_(threshold),
      by_touches_(by_touches),
      slots_(static_cast<std::size_t>(num_slots)) {}

int HostStore::readers_of(ContentId content) const {
  const auto slot = find(content);
  return slot ? at(*slot).readers : 0;
}

HostStore::State HostStore::state(ContentId content) const {
  const auto slot = find(content);
  if (!slot) return State::absent;
  return at(*slot).readers == kWriting ? State::writing : State::ready;
}

std::vector<HostSlot> HostStore::order(bool frequent) const {
  std::vector<HostSlot> slots;
  for (const auto& [rank, slot] : lists_[frequent].slots) slots.push_back(slot);
  return slots;
}

std::optional<std::span<const HostStore::Stored>> HostStore::offer(
    std::span<const ContentId> contents, int first, const TurnRef& by, HostUse& uses, Nanos now) {
  stored_.clear();
  evicted_.clear();
  ++offers_;
  for (std::size_t i = 0; i < contents.size(); ++i) {
    const auto known = find(contents[i]);
    if (known) at(*known).offer = offers_;
    const int times = threshold_ > 1 ? ++offered_[index(contents[i])] : 1;
    if (!known && times >= threshold_) stored_.push_back({first + static_cast<int>(i), {}});
  }
  const auto content_at = [&](int position) {
    return contents[static_cast<std::size_t>(position - first)];
  };
  for (const Stored& each : std::views::reverse(stored_)) {
    std::uint8_t& flags = uses.at(each.position);
    if ((flags & HostUse::missed) == 0) on_missed(content_at(each.position));
    flags |= HostUse::missed;
  }
  for (const Stored& each : stored_) use(content_at(each.position), each.position, uses);
  for (std::size_t i = 0; i < contents.size(); ++i) {
    if (state(contents[i]) != State::ready) continue;
    const int position = first + static_cast<int>(i);
    use(contents[i], position, uses);
    std::uint8_t& flags = uses.at(position);
    if ((flags & HostUse::inserted) == 0) flags |= HostUse::reused;
  }
  const auto wanted = static_cast<int>(stored_.size());
  if (!make_room(wanted - (num_slots() - num_used_), now)) return std::nullopt;
  for (Stored& each : stored_) {
    each.slot = take_slot();
    insert(content_at(each.position), each.slot, by,
           arc_ || by_touches_ ? Rank{++ranks_, 0} : Rank{uses.rank, -each.position});
    uses.at(each.position) |= HostUse::inserted;
  }
  return stored_;
}

/// A request uses a content for the first time, at this position of its context.
void HostStore::use(ContentId content, int position, HostUse& uses) {
  std::uint8_t& flags = uses.at(position);
  if ((flags & HostUse::seen) != 0) return;
  flags |= HostUse::seen;
  if (arc_ || by_touches_) return;
  if (uses.rank == 0) uses.rank = ++ranks_;
  const auto slot = find(content);
  if (!slot) return;
  const Rank rank{uses.rank, -position};
  if (at(*slot).rank < rank) move_to(*slot, false, rank);
}

void HostStore::move_to(HostSlot slot, bool frequent, Rank rank) {
  Slot& here = at(slot);
  num_chosen_ += (rank.first == 0 ? 1 : 0) - (chosen(here) ? 1 : 0);
  auto node = lists_[here.frequent].slots.extract(here.place);
  here.frequent = frequent;
  here.rank = rank;
  node.value().first = rank;
  Order& order = lists_[frequent].slots;
  here.place = order.insert(order.end(), std::move(node));  // mostly there
}

void HostStore::insert(ContentId content, HostSlot slot, const TurnRef& by, Rank rank) {
  Order& order = lists_[0].slots;
  at(slot) = {.content = content,
              .owner = by,
              .rank = rank,
              .place = order.emplace_hint(order.end(), rank, slot),
              .offer = offers_};
  if (index(content) >= by_content_.size()) by_content_.resize(numbers_.room());
  by_content_[index(content)] = index(slot) + 1;
  ++num_used_;
  for (List& list : lists_) list.remove_ghost(content);
}

HostSlot HostStore::take_slot() {
  if (num_fresh_ < num_slots()) return HostSlot{static_cast<std::uint32_t>(num_fresh_++)};
  const HostSlot slot = empty_.back();
  empty_.pop_back();
  return slot;
}

void HostStore::remove(HostSlot slot) {
  Slot& here = at(slot);
  num_chosen_ -= chosen(here) ? 1 : 0;
  lists_[here.frequent].slots.erase(here.place);
  by_content_[index(here.content)] = 0;
  here.content = ContentId::none;
  empty_.push_back(slot);
  --num_used_;
}

/// ARC: a content whose ghost is in one list makes that list longer.
void HostStore::on_missed(ContentId content) {
  if (!arc_) return;
  for (const bool frequent : {false, true}) {
    List& list = lists_[frequent];
    if (!list.ghost_ages.contains(index(content))) continue;
    const auto own = static_cast<double>(list.ghosts.size());
    const auto other = static_cast<double>(lists_[!frequent].ghosts.size());
    const double step = std::max(1.0, other / own);
    wanted_recent_ = std::clamp(wanted_recent_ + (frequent ? -step : step), 0.0,
                                static_cast<double>(slots_.size()));
    list.add_ghost(content, ++ranks_);
    return;
  }
}

void HostStore::List::add_ghost(ContentId content, std::uint64_t age) {
  remove_ghost(content);
  ghosts[age] = content;
  ghost_ages[index(content)] = age;
}

bool HostStore::List::remove_ghost(ContentId content) {
  const auto age = ghost_ages.find(index(content));
  if (age == ghost_ages.end()) return false;
  ghosts.erase(age->second);
  ghost_ages.erase(age);
  return true;
}

/// Evicts that many contents, or none where too few can go.
bool HostStore::make_room(int count, Nanos now) {
  if (count <= 0) return true;
  victims_.clear();
  if (!(rule_ != nullptr ? ask_rule(count, now) : choose_victims(count))) return false;
  for (const HostSlot slot : victims_) {
    const Slot& here = at(slot);
    evicted_.push_back({slot, here.owner, here.unread});
    if (arc_) {
      List& list = lists_[here.frequent];
      list.add_ghost(here.content, ++ranks_);
    }
    remove(slot);
  }
  for (List& list : lists_)
    while (list.ghosts.size() > slots_.size())
      list.remove_ghost(ContentId(list.ghosts.begin()->second));
  return true;
}

bool HostStore::choose_victims(int count) {
  auto recent_left = static_cast<int>(lists_[0].slots.size());
  std::set<std::pair<Rank, HostSlot>>::const_iterator next[2] = {lists_[0].slots.begin(),
                                                                 lists_[1].slots.begin()};
  const auto take_from = [&](bool frequent) {
    auto& at_next = next[frequent];
    while (at_next != lists_[frequent].slots.end()) {
      const HostSlot slot = (at_next++)->second;
      if (!evictable(at(slot))) continue;
      victims_.push_back(slot);
      recent_left -= frequent ? 0 : 1;
      return true;
    }
    return false;
  };
  for (int i = 0; i < count; ++i) {
    const bool recent_first = !arc_ || recent_left >= static_cast<int>(wanted_recent_);
    if (recent_first && take_from(false)) continue;
    if (!take_from(true) && !take_from(false)) return false;
  }
  return true;
}

/// Asks the rule for one victim after another, with what was offered out of its reach.
bool HostStore::ask_rule(int count, Nanos now) {
  const auto can_go = std::ranges::count_if(
      lists_[0].slots, [&](const auto& entry) { return evictable(at(entry.second)); });
  if (can_go < count) return false;
  std::vector<HostSlot> held;
  for (const auto& [rank, slot] : lists_[0].slots)
    if (at(slot).readers == 0 && at(slot).offer == offers_) held.push_back(slot);
  for (const HostSlot slot : held) rule_->on_held(slot);
  for (int i = 0; i < count; ++i) {
    std::optional<HostSlot> victim = rule_->victim(now);
    if (!victim) {
      const auto oldest = std::ranges::find_if(lists_[0].slots, [&](const auto& entry) {
        return evictable(at(entry.second)) &&
               std::ranges::find(victims_, entry.second) == victims_.end();
      });
      victim = oldest->second;
    }
    rule_->on_evicted(*victim);
    victims_.push_back(*victim);
  }
  for (const HostSlot slot : held) rule_->on_released(slot);
  return true;
}

HostSlot HostStore::begin_read(ContentId content, int position, HostUse& uses) {
  const HostSlot slot = slot_of(content);
  Slot& here = at(slot);
  assert(here.readers >= 0);
  if (here.readers++ == 0 && rule_ != nullptr) rule_->on_held(slot);
  here.unread = false;
  use(content, position, uses);
  std::uint8_t& flags = uses.at(position);
  if ((flags & HostUse::inserted) == 0) flags |= HostUse::reused;
  return slot;
}

void HostStore::end_read(ContentId content, bool intact) {
  const HostSlot slot = slot_of(content);
  if (--at(slot).readers > 0) return;
  if (!intact) {
    if (rule_ != nullptr) rule_->on_invalid(slot);
    return remove(slot);
  }
  if (by_touches_) move_to(slot, false, {++ranks_, 0});
  if (rule_ != nullptr) rule_->on_released(slot);
}

void HostStore::end_write(ContentId content, bool intact) {
  const HostSlot slot = slot_of(content);
  if (!intact) return remove(slot);
  at(slot).readers = 0;
  if (by_touches_) move_to(slot, false, {++ranks_, 0});
  if (rule_ != nullptr) rule_->on_stored(slot, numbers_.hash_of(content));
}

bool HostStore::evict_next(ContentId content, JobId job) {
  const auto slot = find(content);
  if (!slot || at(*slot).readers != 0 || at(*slot).owner.job != job) return false;
  move_to(*slot, false, {0, --chosen_});
  return true;
}

/// A request at the head of the queue asks in every step: nothing changes where it was the last.
void HostStore::touch(std::span<const ContentId> contents) {
  if (!by_touches_ || contents.empty()) return;
  if (touched_ == ranks_ && last_touched_ == contents.back()) return;
  for (const ContentId content : std::views::reverse(contents)) {
    const auto slot = find(content);
    if (slot && at(*slot).readers == 0) move_to(*slot, false, {++ranks_, 0});
  }
  touched_ = ranks_;
  last_touched_ = contents.back();
}

/// Blocks of the request rank anew, the end of its context first; by ARC those that it found, and
/// did not store itself, count as used again.
void HostStore::finish(std::span<const ContentId> contents, const HostUse& uses) {
  if (by_touches_) return;
  for (std::size_t i = std::min(contents.size(), uses.blocks.size()); i-- > 0;) {
    const std::uint8_t flags = uses.blocks[i];
    const auto slot = find(contents[i]);
    if ((flags & HostUse::seen) == 0 || !slot) continue;
    const bool reused = (flags & HostUse::reused) != 0;
    const bool inserted = (flags & HostUse::inserted) != 0;
    if (arc_ && !reused && !inserted) continue;
    move_to(*slot, at(*slot).frequent || (arc_ && reused), {++ranks_, 0});
  }
}

}  // namespace engine
