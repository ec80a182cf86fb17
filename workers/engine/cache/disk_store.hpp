#pragma once
#include <cassert>
#include <cstdint>
#include <list>
#include <optional>
#include <unordered_map>

#include "workers/engine/base/clock.hpp"
#include "workers/engine/base/ids.hpp"

namespace engine {

/// The contents of a disk, one KV block each. The content used least recently is evicted first; a
/// use is an eviction from host memory or a read.
class DiskStore {
 public:
  explicit DiskStore(std::int64_t capacity) : capacity_(capacity) {}

  bool contains(ContentId content) const { return entries_.contains(content); }
  std::int64_t num_used() const { return static_cast<std::int64_t>(entries_.size()); }
  /// Makes the content the last to leave. False where the disk does not have it.
  bool use(ContentId content) {
    const auto found = entries_.find(content);
    if (found == entries_.end()) return false;
    order_.splice(order_.end(), order_, found->second);
    return true;
  }
  /// Takes in a content that is absent, and returns whose content left for it.
  std::optional<TurnRef> insert(ContentId content, const TurnRef& owner) {
    assert(!contains(content));
    std::optional<TurnRef> left;
    if (num_used() == capacity_) {
      left = order_.front().owner;
      entries_.erase(order_.front().content);
      order_.pop_front();
    }
    entries_[content] = order_.insert(order_.end(), {content, owner});
    return left;
  }

  /// When the content is, or was, written whole; 0 where it is absent.
  Nanos written(ContentId content) const {
    const auto found = entries_.find(content);
    return found == entries_.end() ? Nanos{0} : found->second->written;
  }
  void set_written(ContentId content, Nanos at) {
    const auto found = entries_.find(content);
    if (found != entries_.end()) found->second->written = at;
  }

 private:
  struct Entry {
    ContentId content;
    TurnRef owner;
    Nanos written{0};
  };
  std::int64_t capacity_;
  std::list<Entry> order_;  // the next to leave first
  std::unordered_map<ContentId, std::list<Entry>::iterator> entries_;
};

}  // namespace engine
