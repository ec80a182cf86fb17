#pragma once
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

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

}  // namespace backends
