#pragma once
#include <cstddef>
#include <vector>

#include "workers/engine/base/ids.hpp"

namespace policies {

/// A value for every id up to the greatest that was written to.
template <class Id, class T>
class ById {
 public:
  T& operator[](Id id) {
    if (position(id) >= values_.size()) values_.resize(position(id) + 1);
    return values_[position(id)];
  }
  /// Returns the value of an id that was written to.
  const T& operator[](Id id) const { return values_[position(id)]; }
  /// Throws std::out_of_range for an id beyond those.
  const T& at(Id id) const { return values_.at(position(id)); }
  /// Null for an id beyond those.
  const T* find(Id id) const {
    return position(id) < values_.size() ? &values_[position(id)] : nullptr;
  }
  auto begin() { return values_.begin(); }
  auto end() { return values_.end(); }

 private:
  static std::size_t position(Id id) { return static_cast<std::size_t>(id); }

  std::vector<T> values_;
};

template <class T>
using ByJob = ById<engine::JobId, T>;

}  // namespace policies
