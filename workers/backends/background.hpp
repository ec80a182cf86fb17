#pragma once
#include <array>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "workers/engine/base/clock.hpp"

namespace backends {

/// A queue of work for a thread of its own, in order. Nothing waits for it before finish(); until
/// then pending items stay in memory.
template <class Item>
class Backlog {
 public:
  using Take = std::function<void(Item&)>;

  /// `take` is called on the thread. Its exceptions are rethrown by the next call here, and later
  /// items are dropped.
  explicit Backlog(Take take) : take_(std::move(take)) {
    thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
  }
  Backlog(const Backlog&) = delete;
  Backlog& operator=(const Backlog&) = delete;

  void add(Item item) {
    {
      const std::lock_guard lock(mutex_);
      rethrow();
      items_.push_back(std::move(item));
    }
    changed_.notify_all();
  }
  /// Waits until all items have been taken.
  void finish() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return (items_.empty() && !taking_) || error_; });
    rethrow();
  }

 private:
  void rethrow() {
    if (error_) std::rethrow_exception(error_);
  }
  void serve(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [this] { return !items_.empty(); }) && !error_ &&
           !stop.stop_requested()) {
      Item item = std::move(items_.front());
      items_.pop_front();
      taking_ = true;
      lock.unlock();
      std::exception_ptr error;
      try {
        take_(item);
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      taking_ = false;
      error_ = error;
      changed_.notify_all();
    }
  }

  Take take_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable_any changed_;
  std::deque<Item> items_;
  bool taking_ = false;
  std::exception_ptr error_;
  std::jthread thread_;  // declared last: it starts after all else, and ends first
};

/// Three buffers between a producer, which fills one per step, and a thread that empties them in
/// the same order. When all are full, the producer waits, and the wait is counted.
template <class Buffer>
class BufferRing {
 public:
  static constexpr std::size_t kBuffers = 3;
  using Empty = std::function<void(Buffer&)>;

  /// `empty` is called on the thread. Its exceptions are rethrown by the next call here.
  BufferRing(std::array<Buffer, kBuffers> buffers, Empty empty)
      : buffers_(std::move(buffers)),
        empty_(std::move(empty)),
        full_([this](Buffer*& buffer) { free(buffer); }) {
    for (Buffer& buffer : buffers_) free_.push_back(&buffer);
  }

  /// Returns a free buffer, which the caller owns until it passes it on.
  Buffer& take() {
    std::unique_lock lock(mutex_);
    if (free_.empty()) {
      ++waits_;
      const engine::Nanos start = clock_.now();
      changed_.wait(lock, [this] { return !free_.empty(); });
      waited_ += clock_.now() - start;
    }
    if (failed_) full_.finish();  // throws
    Buffer* const buffer = free_.front();
    free_.pop_front();
    return *buffer;
  }
  void pass_on(Buffer& buffer) { full_.add(&buffer); }
  /// Waits until every buffer passed on has been emptied.
  void finish() { full_.finish(); }

  /// How often no buffer was free, and how long the producer waited.
  int waits() const {
    const std::lock_guard lock(mutex_);
    return waits_;
  }
  engine::Nanos waited() const {
    const std::lock_guard lock(mutex_);
    return waited_;
  }

 private:
  /// A buffer whose emptying fails is free as well, so the producer never waits in vain.
  void free(Buffer* buffer) {
    std::exception_ptr error;
    try {
      empty_(*buffer);
    } catch (...) {
      error = std::current_exception();
    }
    {
      const std::lock_guard lock(mutex_);
      free_.push_back(buffer);
      failed_ = error != nullptr;
    }
    changed_.notify_all();
    if (error) std::rethrow_exception(error);
  }

  std::array<Buffer, kBuffers> buffers_;
  Empty empty_;
  engine::WallClock clock_;
  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::deque<Buffer*> free_;
  bool failed_ = false;
  int waits_ = 0;
  engine::Nanos waited_{0};
  Backlog<Buffer*> full_;  // declared last: its thread uses the members above
};

}  // namespace backends
