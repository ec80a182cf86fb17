#include "workers/engine/step/transfer_queue.hpp"

#include <algorithm>
#include <cassert>
#include <stdexcept>
#include <tuple>

namespace engine {

TransferQueue::TransferQueue(const TransferConfig& config, BlockCopier& copier)
    : config_(config),
      copier_(copier),
      block_load_ns_(static_cast<double>(config.block_load_time.count())) {
  if (config.quantum_blocks < 1) throw std::invalid_argument("a quantum holds at least one block");
}

bool TransferQueue::sooner(const Transfer& a, const Transfer& b) {
  const auto rank = [](const Transfer& t) {
    const Nanos due = t.kind.urgency == Urgency::prefetch ? t.kind.deadline : Nanos{0};
    return std::tuple(t.kind.urgency, due, t.id);
  };
  return rank(a) < rank(b);
}

TransferQueue::Transfer& TransferQueue::new_transfer() {
  if (reusable_.empty()) return transfers_.emplace_back();
  Transfer& transfer = *reusable_.back();
  reusable_.pop_back();
  std::vector<BlockCopy> buffer = std::move(transfer.copies);
  buffer.clear();
  transfer = {};
  transfer.copies = std::move(buffer);
  return transfer;
}

TransferId TransferQueue::submit(const TransferKind& kind, std::span<const BlockCopy> copies) {
  assert(!copies.empty());
  Transfer& transfer = new_transfer();
  transfer.id = TransferId{++num_submitted_};
  transfer.kind = kind;
  transfer.copies.assign(copies.begin(), copies.end());
  open_.push_back(&transfer);
  enqueue(transfer);
  return transfer.id;
}

void TransferQueue::enqueue(Transfer& transfer) {
  auto& waiting = direction_of(transfer).waiting;
  const auto after = [](const Transfer* a, const Transfer* b) { return sooner(*b, *a); };
  waiting.insert(std::ranges::lower_bound(waiting, &transfer, after), &transfer);
  transfer.waiting = true;
}

void TransferQueue::dequeue(Transfer& transfer) {
  if (!transfer.waiting) return;
  std::erase(direction_of(transfer).waiting, &transfer);
  transfer.waiting = false;
}

TransferQueue::Transfer* TransferQueue::find(TransferId id) {
  // Ids grow in order of submission.
  const auto at = std::ranges::lower_bound(open_, id, {}, &Transfer::id);
  return at != open_.end() && (*at)->id == id ? *at : nullptr;
}

void TransferQueue::raise(TransferId id, Urgency urgency, Nanos now) {
  Transfer* transfer = find(id);
  if (transfer == nullptr || transfer->kind.urgency <= urgency) return;
  // Its quanta may be queued behind others: withdraws all that it can, and submit_next() orders
  // them again.
  Direction& direction = direction_of(*transfer);
  while (!direction.ahead.empty() && withdraw_last(direction, now)) {
  }
  const bool waiting = transfer->waiting;
  dequeue(*transfer);
  transfer->kind.urgency = urgency;
  if (waiting) enqueue(*transfer);
}

void TransferQueue::cancel(TransferId id, Nanos now) {
  Transfer* transfer = find(id);
  if (transfer == nullptr) return;
  // Quanta behind it must be withdrawn first; the next submit_next() submits them again.
  auto& ahead = direction_of(*transfer).ahead;
  while (std::ranges::find(ahead, transfer, &Quantum::transfer) != ahead.end()) {
    if (!withdraw_last(direction_of(*transfer), now)) break;
  }
  dequeue(*transfer);
  transfer->copies.resize(static_cast<std::size_t>(transfer->handed));
  finish_if_over(*transfer);
}

/// Withdraws the quantum submitted last; false when it has started.
bool TransferQueue::withdraw_last(Direction& direction, Nanos now) {
  const Quantum last = direction.ahead.back();
  if (!copier_.withdraw(last.copy, now)) return false;
  direction.ahead.pop_back();
  last.transfer->handed -= last.copies;
  if (!last.transfer->waiting) enqueue(*last.transfer);
  return true;
}

void TransferQueue::withdraw_less_urgent(Direction& direction, Nanos now) {
  while (!direction.waiting.empty() && !direction.ahead.empty() &&
         sooner(*direction.waiting.back(), *direction.ahead.back().transfer)) {
    if (!withdraw_last(direction, now)) return;
  }
}

void TransferQueue::submit_next(Nanos now) {
  for (Direction& direction : directions_) {
    withdraw_less_urgent(direction, now);
    fill(direction, now);
  }
}

void TransferQueue::fill(Direction& direction, Nanos now) {
  const auto room = [&] {
    return config_.max_ahead == 0 || static_cast<int>(direction.ahead.size()) < config_.max_ahead;
  };
  while (!direction.waiting.empty() && room()) {
    Transfer& next = *direction.waiting.back();
    const auto left = std::span(next.copies).subspan(static_cast<std::size_t>(next.handed));
    const auto count = std::min(left.size(), static_cast<std::size_t>(config_.quantum_blocks));
    const CopyId copy = copier_.submit(next.kind.direction, left.first(count), now);
    direction.ahead.push_back({copy, &next, static_cast<int>(count)});
    next.handed += static_cast<int>(count);
    if (count == left.size()) dequeue(next);
  }
}

void TransferQueue::collect(Nanos now) {
  copies_done_.clear();
  copier_.poll(now, copies_done_);
  for (const CopyDone& done : copies_done_) {
    for (Direction& direction : directions_) {
      if (!direction.ahead.empty() && direction.ahead.front().copy == done.id) {
        on_arrived(direction, done);
        break;
      }
    }
  }
  submit_next(now);
}

std::span<const TransferDone> TransferQueue::poll(Nanos now) {
  if (busy()) collect(now);
  reported_.swap(over_);
  over_.clear();
  return reported_;
}

void TransferQueue::on_arrived(Direction& direction, const CopyDone& done) {
  const Quantum quantum = direction.ahead.front();
  direction.ahead.pop_front();
  Transfer& transfer = *quantum.transfer;
  const bool load = transfer.kind.direction == CopyDirection::load;
  (load ? stats_.loaded_blocks : stats_.stored_blocks) += quantum.copies;
  (load ? stats_.load_busy : stats_.store_busy) += done.busy;
  if (load) {
    constexpr double kNewest = 0.2;  // weight of the newest quantum
    const double took = static_cast<double>(done.busy.count()) / quantum.copies;
    block_load_ns_ += kNewest * (took - block_load_ns_);
  }
  transfer.arrived += quantum.copies;
  transfer.failed |= done.failed;
  if (!transfer.failed) transfer.landed = transfer.arrived;
  finish_if_over(transfer);
}

void TransferQueue::finish_if_over(Transfer& transfer) {
  if (transfer.arrived < static_cast<int>(transfer.copies.size())) return;
  over_.push_back({transfer.id, transfer.landed, transfer.failed});
  std::erase(open_, &transfer);
  reusable_.push_back(&transfer);
}

int TransferQueue::pending(CopyDirection direction, Urgency urgency) const {
  int blocks = 0;
  for (const Transfer* t : open_)
    if (t->kind.direction == direction && t->kind.urgency <= urgency)
      blocks += static_cast<int>(t->copies.size()) - t->arrived;
  return blocks;
}

int TransferQueue::count(CopyDirection direction) const {
  return static_cast<int>(std::ranges::count_if(
      open_, [&](const Transfer* t) { return t->kind.direction == direction; }));
}

void TransferQueue::wait(Clock& clock, Nanos until) {
  submit_next(clock.now());
  if (const auto next = copier_.next_completion()) {
    clock.wait_until(std::min(*next, until));
  } else {
    copier_.wait();
  }
}

void TransferQueue::finish(TransferId id, Clock& clock) {
  while (find(id) != nullptr) {
    wait(clock, Nanos::max());
    collect(clock.now());
  }
}

std::span<const TransferDone> TransferQueue::drain(Clock& clock) {
  std::vector<TransferDone> all;
  while (busy()) {
    wait(clock, Nanos::max());
    const auto done = poll(clock.now());
    all.insert(all.end(), done.begin(), done.end());
  }
  const auto rest = poll(clock.now());
  all.insert(all.end(), rest.begin(), rest.end());
  reported_ = std::move(all);
  return reported_;
}

TransferStats TransferQueue::take_stats() {
  const TransferStats stats = stats_;
  stats_ = {};
  return stats;
}

}  // namespace engine
