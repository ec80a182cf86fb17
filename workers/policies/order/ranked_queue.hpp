#pragma once
#include <algorithm>
#include <cassert>
#include <cstddef>
#include <utility>
#include <vector>

#include "workers/engine/base/request.hpp"
#include "workers/engine/step/queue_order.hpp"

namespace policies {

/// Waiting requests, ordered by a rank that may change while they wait: a binary heap with elements
/// that know their position. `Before(a, b)` must be a strict total order. All operations are O(log
/// n) and allocate memory only when the heap grows.
template <class Before>
class RankedQueue {
 public:
  explicit RankedQueue(Before before) : before_(std::move(before)) {}

  int size() const { return static_cast<int>(heap_.size()); }
  engine::Request* front() const { return heap_.empty() ? nullptr : heap_.front(); }

  void push(engine::Request& request) {
    heap_.push_back(&request);
    request.heap_position = heap_.size() - 1;
    sift_up(request.heap_position);
  }

  void remove(engine::Request& request) {
    const std::size_t at = request.heap_position;
    assert(at < heap_.size() && heap_[at] == &request);
    swap(at, heap_.size() - 1);
    heap_.pop_back();
    if (at < heap_.size()) sift(at);
  }

  /// The rank of a waiting request has changed.
  void update(engine::Request& request) { sift(request.heap_position); }

  std::vector<const engine::Request*> in_service_order() const {
    std::vector<const engine::Request*> all(heap_.begin(), heap_.end());
    std::ranges::sort(all, [&](const auto* a, const auto* b) { return before_(*a, *b); });
    return all;
  }

 private:
  void swap(std::size_t a, std::size_t b) {
    std::swap(heap_[a], heap_[b]);
    heap_[a]->heap_position = a;
    heap_[b]->heap_position = b;
  }

  void sift(std::size_t at) {
    sift_up(at);
    sift_down(at);
  }

  void sift_up(std::size_t at) {
    for (; at > 0 && before_(*heap_[at], *heap_[(at - 1) / 2]); at = (at - 1) / 2)
      swap(at, (at - 1) / 2);
  }

  void sift_down(std::size_t at) {
    for (;;) {
      std::size_t first = at;
      for (const std::size_t child : {2 * at + 1, 2 * at + 2}) {
        if (child < heap_.size() && before_(*heap_[child], *heap_[first])) first = child;
      }
      if (first == at) return;
      swap(at, first);
      at = first;
    }
  }

  Before before_;
  std::vector<engine::Request*> heap_;
};

/// The running request of greatest rank: which would be served last if it waited. Of equals the one
/// that was admitted first. At least one must run.
template <class Rank>
engine::Request& last_by(const engine::RunningList& running, const Rank& rank) {
  engine::Request* last = running.front();
  for (engine::Request* r = last; r != nullptr; r = running.next(*r))
    if (rank(*last) < rank(*r)) last = r;
  return *last;
}

/// Serves waiting requests in ascending order of Order::rank(request), which must be a strict total
/// order. Order derives from this class. The victim is the running request of the highest rank.
template <class Order>
class RankedOrder : public engine::QueueOrder {
 public:
  void push(engine::Request& request) override { queue_.push(request); }
  void push_preempted(engine::Request& request) override { queue_.push(request); }
  engine::Request* front() const override { return queue_.front(); }
  void remove(engine::Request& request) override { queue_.remove(request); }
  int size() const override { return queue_.size(); }
  std::vector<const engine::Request*> in_service_order() const override {
    return queue_.in_service_order();
  }
  engine::Request& choose_victim(const engine::RunningList& running) const override {
    return last_by(running, [this](const engine::Request& r) { return self().rank(r); });
  }

 protected:
  /// The rank of a waiting request has changed.
  void update(engine::Request& request) { queue_.update(request); }

 private:
  const Order& self() const { return static_cast<const Order&>(*this); }
  struct Before {
    const RankedOrder* order;
    bool operator()(const engine::Request& a, const engine::Request& b) const {
      return order->self().rank(a) < order->self().rank(b);
    }
  };
  RankedQueue<Before> queue_{Before{this}};
};

}  // namespace policies
