#include "workers/engine/cache/disk_store.hpp"

#include <cassert>

namespace engine {

bool DiskStore::use(ContentId content) {
  const auto found = entries_.find(content);
  if (found == entries_.end()) return false;
  order_.splice(order_.end(), order_, found->second);
  return true;
}

std::optional<TurnRef> DiskStore::insert(ContentId content, const TurnRef& owner) {
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

Nanos DiskStore::written(ContentId content) const {
  const auto found = entries_.find(content);
  return found == entries_.end() ? Nanos{0} : found->second->written;
}

void DiskStore::set_written(ContentId content, Nanos at) {
  const auto found = entries_.find(content);
  if (found != entries_.end()) found->second->written = at;
}

}  // namespace engine
