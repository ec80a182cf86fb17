#include "workers/backends/sim/link_copier.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace backends {

using engine::CopyDirection;
using engine::CopyDone;
using engine::CopyId;
using engine::Nanos;

namespace {

double ns_of(Nanos t) { return static_cast<double>(t.count()); }
/// Time `ns`, rounded up to the first instant that is not earlier.
Nanos at_or_after(double ns) { return Nanos{static_cast<std::int64_t>(std::ceil(ns))}; }

}  // namespace

LinkModel link_model(const LinkRates& rates, LinkMemory memory, std::int64_t bytes_per_block) {
  const bool pinned = memory == LinkMemory::pinned;
  return {.load_gb_s = pinned ? rates.pinned_h2d_gb_s : rates.pageable_h2d_gb_s,
          .store_gb_s = pinned ? rates.pinned_d2h_gb_s : rates.pageable_d2h_gb_s,
          .duplex_factor = rates.duplex_factor,
          .bytes_per_block = bytes_per_block};
}

LinkCopier::LinkCopier(const LinkModel& link) : link_(link) {
  const bool usable = link.bytes_per_block > 0 && link.duplex_factor > 0 &&
                      link.duplex_factor <= 1 &&
                      (link.infinite || (link.load_gb_s > 0 && link.store_gb_s > 0));
  if (!usable)
    throw std::invalid_argument(
        "a host link needs rates and a block size above 0, and a duplex factor in (0, 1]");
}

CopyId LinkCopier::submit(CopyDirection direction, std::span<const engine::BlockCopy> copies,
                          Nanos now) {
  run_until(ns_of(now));
  const double bytes =
      static_cast<double>(copies.size()) * static_cast<double>(link_.bytes_per_block);
  const double gb_s = direction == CopyDirection::load ? link_.load_gb_s : link_.store_gb_s;
  // 1 GB/s is one byte per nanosecond.
  const double launches_ns = static_cast<double>(copies.size()) * link_.block_us * 1e3;
  const double work_ns = link_.infinite ? 0 : bytes / gb_s + launches_ns;
  const CopyId id{++num_submitted_};
  if (direction == CopyDirection::load) loaded_blocks_ += std::ssize(copies);
  Direction& queue = directions_[static_cast<std::size_t>(direction)];
  queue.push_back({id, work_ns});
  begin_heads();
  return id;
}

void LinkCopier::begin_heads() {
  for (std::size_t d : {0u, 1u}) {
    if (directions_[d].empty() || speed_of(d) == 0) continue;
    Batch& head = directions_[d].front();
    if (head.begun_ns < 0) head.begun_ns = now_ns_;
  }
}

double LinkCopier::speed_of(std::size_t direction) const {
  const Direction& other = directions_[1 - direction];
  if (other.empty()) return 1;
  if (link_.duplex) return link_.duplex_factor;
  return directions_[direction].front().id < other.front().id ? 1 : 0;
}

double LinkCopier::head_completion_ns(std::size_t direction) const {
  if (directions_[direction].empty() || speed_of(direction) == 0)
    return std::numeric_limits<double>::infinity();
  return now_ns_ + directions_[direction].front().work_ns / speed_of(direction);
}

/// Advances both directions to `until_ns`; nothing completes or begins in between.
void LinkCopier::work(double until_ns) {
  const double speeds[] = {directions_[0].empty() ? 0 : speed_of(0),
                           directions_[1].empty() ? 0 : speed_of(1)};
  for (std::size_t d : {0u, 1u}) {
    if (directions_[d].empty()) continue;
    double& left = directions_[d].front().work_ns;
    left = std::max(0.0, left - (until_ns - now_ns_) * speeds[d]);
  }
  now_ns_ = until_ns;
}

void LinkCopier::run_until(double ns) {
  for (;;) {
    const std::size_t first = head_completion_ns(0) <= head_completion_ns(1) ? 0 : 1;
    const double through = head_completion_ns(first);
    if (!(through <= ns)) break;
    work(through);
    Direction& queue = directions_[first];
    through_.push_back({queue.front().id, Nanos{std::llround(now_ns_ - queue.front().begun_ns)}});
    queue.pop_front();
    begin_heads();
  }
  if (ns > now_ns_) work(ns);
}

void LinkCopier::poll(Nanos now, std::vector<CopyDone>& done) {
  run_until(ns_of(now));
  done.insert(done.end(), through_.begin(), through_.end());
  through_.clear();
}

std::optional<Nanos> LinkCopier::next_completion() const {
  if (!through_.empty()) return at_or_after(now_ns_);
  const double next = std::min(head_completion_ns(0), head_completion_ns(1));
  if (std::isinf(next)) return std::nullopt;
  return at_or_after(next);
}

bool LinkCopier::withdraw(CopyId id, Nanos now) {
  run_until(ns_of(now));
  for (Direction& queue : directions_) {
    const auto at = std::ranges::find(queue, id, &Batch::id);
    if (at == queue.end() || at->begun_ns >= 0) continue;
    queue.erase(at);
    return true;
  }
  return false;
}

}  // namespace backends
