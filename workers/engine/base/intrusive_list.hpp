#pragma once
#include <cassert>
#include <cstddef>

namespace engine {

/// An object's links in one list. An object may be in as many lists as it has links.
template <class T>
struct Link {
  T* prev = nullptr;
  T* next = nullptr;
  bool linked = false;
};

/// Doubly linked list through a member of its elements: O(1) everywhere, never allocates, owns
/// nothing.
template <class T, Link<T> T::*link>
class IntrusiveList {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  T* front() const { return head_; }
  T* back() const { return tail_; }
  static T* next(const T& item) { return (item.*link).next; }
  static T* prev(const T& item) { return (item.*link).prev; }
  static bool contains(const T& item) { return (item.*link).linked; }

  void push_back(T& item) { insert_between(tail_, item, nullptr); }
  void push_front(T& item) { insert_between(nullptr, item, head_); }
  /// Behind `before`, or first where that is null.
  void insert_behind(T* before, T& item) {
    insert_between(before, item, before != nullptr ? (before->*link).next : head_);
  }

  /// Moves the items from `first` to `last`.
  void move_to_back(T& first, T& last) {
    if (&last == tail_) return;
    T* const before = (first.*link).prev;
    T* const after = (last.*link).next;
    (before ? (before->*link).next : head_) = after;
    (after->*link).prev = before;
    (first.*link).prev = tail_;
    (tail_->*link).next = &first;
    (last.*link).next = nullptr;
    tail_ = &last;
  }
  void remove(T& item) {
    Link<T>& here = item.*link;
    assert(here.linked);
    (here.prev ? (here.prev->*link).next : head_) = here.next;
    (here.next ? (here.next->*link).prev : tail_) = here.prev;
    here = {};
    --size_;
  }

 private:
  void insert_between(T* before, T& item, T* after) {
    assert(!(item.*link).linked);
    item.*link = {before, after, true};
    (before ? (before->*link).next : head_) = &item;
    (after ? (after->*link).prev : tail_) = &item;
    ++size_;
  }

  T* head_ = nullptr;
  T* tail_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace engine
