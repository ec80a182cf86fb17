#include "workers/engine/cache/host_store.hpp"

#include <algorithm>
#include <cassert>
#include <ranges>

namespace engine {

HostStore::HostStore(int num_slots, bool arc, HostEviction* rule, const PrefixCache& numbers,
                     int threshold, HostUses uses)
    : arc_(arc),
      uses_(uses == HostUses::by_look_ups && !arc ? HostUses::by_touches : uses),
      rule_(rule),
      numbers_(numbers),
      threshold_(threshold),
      slots_(static_cast<std::size_t>(num_slots)) {}

std::vector<HostSlot> HostStore::order(bool frequent) const {
  std::vector<HostSlot> slots;
  for (auto* entry = lists_[frequent].slots.front(); entry != nullptr; entry = Order::next(*entry))
    if (entry->content != ContentId::none) slots.push_back(slot_of(*entry));
  return slots;
}

std::optional<std::span<const HostStore::Stored>> HostStore::offer(
    std::span<const ContentId> contents, int first, const TurnRef& by, HostUse& uses, Nanos now) {
  stored_.clear();
  evicted_.clear();
  held_.clear();
  ++offers_;
  for (std::size_t i = 0; i < contents.size(); ++i) {
    const int position = first + static_cast<int>(i);
    HostEntry* const known = entry_of(contents[i]);
    const int times = threshold_ > 1 ? ++offered_[index(contents[i])] : 1;
    if (!known && times >= threshold_) stored_.push_back({position, {}});
    if (!known) continue;
    known->offer = offers_;
    if (known->readers == 0) held_.push_back(known);
    if (known->readers != HostEntry::kWriting) use(slot_of(*known), position, uses);
  }
  const auto content_at = [&](int position) {
    return contents[static_cast<std::size_t>(position - first)];
  };
  for (const Stored& each : std::views::reverse(stored_)) {
    std::uint8_t& flags = uses.at(each.position);
    if (arc_ && uses_ == HostUses::by_requests && (flags & HostUse::missed) == 0)
      on_missed(content_at(each.position));
    flags |= HostUse::missed | HostUse::seen;
    begin(uses);
  }
  const int empty = num_slots() - num_used();
  if (!make_room(static_cast<int>(stored_.size()) - empty, now)) return std::nullopt;
  for (Stored& each : stored_) {
    HostEntry& here = take_slot(content_at(each.position), by);
    each.slot = slot_of(here);
    place(here, each.position, uses);
    uses.at(each.position) |= HostUse::inserted;
  }
  return stored_;
}

/// LRU: the first use by the request gives it its place among requests.
void HostStore::begin(HostUse& uses) {
  if (!ranks_requests() || uses.number != 0) return;
  uses.number = static_cast<std::uint32_t>(ranks_of_.size());
  ranks_of_.push_back(++ranks_);
  lists_[0].slots.push_back(uses.begin);
  lists_[0].slots.push_back(uses.end);
}

void HostStore::use(HostSlot slot, int position, HostUse& uses) {
  std::uint8_t& flags = uses.at(position);
  const bool first = (flags & HostUse::seen) == 0;
  flags |= HostUse::seen | ((flags & HostUse::inserted) == 0 ? HostUse::reused : 0);
  if (!ranks_requests() || !first) return;
  begin(uses);
  HostEntry& here = at(slot);
  if (ranks_of_[here.use] >= ranks_of_[uses.number]) return;
  unlink(here);
  place(here, position, uses);
}

void HostStore::unlink(HostEntry& entry) {
  num_chosen_ -= std::exchange(entry.chosen, false) ? 1 : 0;
  if (Order::contains(entry)) lists_[entry.frequent].slots.remove(entry);
}

/// Makes the entry the last to leave.
void HostStore::append(HostEntry& entry, bool frequent) {
  ++ranks_;
  entry.frequent = frequent;
  lists_[frequent].slots.push_back(entry);
}

void HostStore::renew(HostEntry& entry, bool frequent) {
  unlink(entry);
  append(entry, frequent);
}

/// Puts the entry among those that the request uses. Mostly that of the highest position comes
/// last, and stands first.
void HostStore::place(HostEntry& entry, int position, HostUse& uses) {
  if (uses_ == HostUses::by_look_ups) return;  // it has no place until it is written
  if (!ranks_requests()) return append(entry);
  HostEntry* before = &uses.begin;
  for (HostEntry* next = Order::next(*before); next != &uses.end && next->position > position;
       next = Order::next(*before))
    before = next;
  put_behind(*before, entry, position, uses);
}

void HostStore::put_behind(HostEntry& before, HostEntry& entry, int position, const HostUse& uses) {
  entry.use = uses.number;
  entry.position = position;
  lists_[0].slots.insert_behind(&before, entry);
}

HostEntry& HostStore::take_slot(ContentId content, const TurnRef& by) {
  assert(!find(content));
  HostSlot slot{static_cast<std::uint32_t>(num_fresh_)};
  if (num_fresh_ < num_slots()) {
    ++num_fresh_;
  } else {
    slot = empty_.back();
    empty_.pop_back();
  }
  at(slot) = {.content = content, .owner = by, .offer = offers_};
  if (index(content) >= by_content_.size()) by_content_.resize(numbers_.room());
  by_content_[index(content)] = index(slot) + 1;
  if (uses_ != HostUses::by_look_ups) forget_ghosts(content);
  return at(slot);
}

void HostStore::remove(HostEntry& entry) {
  unlink(entry);
  by_content_[index(entry.content)] = 0;
  empty_.push_back(slot_of(entry));
}

void HostStore::forget_ghosts(ContentId content) {
  for (List& list : lists_) list.remove_ghost(content);
}

/// ARC: a content whose ghost is in one list makes that list longer.
void HostStore::on_missed(ContentId content) {
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
  if (num_idle_ - static_cast<int>(held_.size()) < count) return false;
  victims_.clear();
  rule_ != nullptr ? ask_rule(count, now) : choose_victims(count);
  if (static_cast<int>(victims_.size()) < count) return false;
  for (HostEntry* const victim : victims_) {
    evicted_.push_back({slot_of(*victim), victim->content, victim->owner, victim->unread});
    if (arc_) lists_[victim->frequent].add_ghost(victim->content, ++ranks_);
    --num_idle_;
    remove(*victim);
  }
  for (List& list : lists_)
    while (list.ghosts.size() > slots_.size())
      list.remove_ghost(ContentId(list.ghosts.begin()->second));
  return true;
}

void HostStore::choose_victims(int count) {
  auto recent_left = static_cast<int>(lists_[0].slots.size());
  HostEntry* next[2] = {lists_[0].slots.front(), lists_[1].slots.front()};
  const auto take_from = [&](bool frequent) {
    HostEntry*& at_next = next[frequent];
    while (at_next != nullptr && !evictable(*at_next)) at_next = Order::next(*at_next);
    if (at_next == nullptr) return false;
    victims_.push_back(at_next);
    at_next = Order::next(*at_next);
    recent_left -= frequent ? 0 : 1;
    return true;
  };
  for (int i = 0; i < count; ++i) {
    const bool recent_first = !arc_ || recent_left >= static_cast<int>(wanted_recent_);
    if (take_from(!recent_first)) continue;
    if (!recent_first && uses_ == HostUses::by_touches) return;  // as vLLM 0.26: the store fails
    take_from(recent_first);
  }
}

/// Asks the rule for one victim after another, with what was offered out of its reach.
void HostStore::ask_rule(int count, Nanos now) {
  for (const HostEntry* held : held_) rule_->on_held(slot_of(*held));
  HostEntry* oldest = lists_[0].slots.front();
  const auto may_go = [&](HostEntry* entry) {
    return evictable(*entry) && std::ranges::find(victims_, entry) == victims_.end();
  };
  for (int i = 0; i < count; ++i) {
    const std::optional<HostSlot> chosen = rule_->victim(now);
    while (!chosen && !may_go(oldest)) oldest = Order::next(*oldest);
    victims_.push_back(chosen ? &at(*chosen) : oldest);
    rule_->on_evicted(slot_of(*victims_.back()));
  }
  for (const HostEntry* held : held_) rule_->on_released(slot_of(*held));
}

HostSlot HostStore::begin_read(ContentId content) {
  HostEntry& here = *entry_of(content);
  const HostSlot slot = slot_of(here);
  assert(here.readable());
  here.unread = false;
  if (here.readers++ > 0) return slot;
  --num_idle_;
  if (rule_ != nullptr) rule_->on_held(slot);
  return slot;
}

void HostStore::end_read(HostSlot slot, bool intact) {
  HostEntry& here = at(slot);
  here.lost |= !intact;
  if (--here.readers > 0) return;
  if (here.lost) {
    if (rule_ != nullptr) rule_->on_invalid(slot);
    return remove(here);
  }
  ++num_idle_;
  if (ranks_copies()) renew(here);
  if (rule_ != nullptr) rule_->on_released(slot);
}

void HostStore::end_write(HostSlot slot, bool intact) {
  HostEntry& here = at(slot);
  if (!intact) return remove(here);
  here.readers = 0;
  ++num_idle_;
  const bool has_place = uses_ != HostUses::by_look_ups;
  if (!has_place) forget_ghosts(here.content);
  if (!has_place || ranks_copies()) renew(here);
  if (rule_ != nullptr) rule_->on_stored(slot, numbers_.hash_of(here.content));
}

bool HostStore::evict_next(ContentId content, JobId job) {
  HostEntry* const here = entry_of(content);
  if (!here || here->readers != 0 || here->owner.job != job) return false;
  unlink(*here);
  here->chosen = true;
  here->use = 0;
  lists_[0].slots.push_front(*here);
  ++num_chosen_;
  return true;
}

/// A request at the head of the queue asks in every step: by LRU nothing changes where it was the
/// last.
void HostStore::touch(std::span<const ContentId> contents) {
  if (uses_ != HostUses::by_touches || contents.empty()) return;
  if (arc_) return promote(contents);
  if (touched_ == ranks_ && last_touched_ == contents.back()) return;
  for (const ContentId content : std::views::reverse(contents)) {
    HostEntry* const here = entry_of(content);
    if (here && here->readers == 0) renew(*here);
  }
  touched_ = ranks_;
  last_touched_ = contents.back();
}

void HostStore::look_up(std::span<const ContentId> contents) {
  if (uses_ == HostUses::by_look_ups) promote(contents);
}

void HostStore::promote(std::span<const ContentId> contents) {
  for (const ContentId content : std::views::reverse(contents)) {
    HostEntry* const here = entry_of(content);
    const bool written = here && here->readers != HostEntry::kWriting;
    const bool has_place = written || (here && uses_ == HostUses::by_touches);
    has_place ? renew(*here, written) : on_missed(content);
  }
}

/// Blocks of the request rank anew, the end of its context first; by ARC those that it found, and
/// did not store itself, count as used again.
void HostStore::finish(std::span<const ContentId> contents, HostUse& uses) {
  if (uses_ != HostUses::by_requests) return;
  HostEntry* before = &uses.begin;
  for (std::size_t i = std::min(contents.size(), uses.blocks.size()); i-- > 0;) {
    const std::uint8_t flags = uses.blocks[i];
    HostEntry* const here = entry_of(contents[i]);
    if ((flags & HostUse::seen) == 0 || !here || here->chosen) continue;
    if (arc_) {
      const bool reused = (flags & HostUse::reused) != 0;
      if (reused || (flags & HostUse::inserted) != 0) renew(*here, here->frequent || reused);
    } else if (here->use != uses.number) {
      unlink(*here);
      put_behind(*before, *here, static_cast<int>(i), uses);
    }
    before = here;
  }
  if (uses.number == 0) return;
  Order& order = lists_[0].slots;
  order.move_to_back(uses.begin, uses.end);
  order.remove(uses.begin);
  order.remove(uses.end);
  ranks_of_[uses.number] = ++ranks_;
}

}  // namespace engine
