#pragma once
#include <cstdint>
#include <mutex>
#include <vector>

#include "workers/engine/step/block_copier.hpp"

namespace backends {

/// A copy of a block between device and host, on the cell's clock.
struct LoggedCopy {
  engine::CopyDirection direction;
  std::uint32_t block;
  engine::Nanos issued, start, end;
};

/// Log of copies, which may be added from another thread. Holds up to `most` of them and counts the
/// rest.
class CopyLog {
 public:
  explicit CopyLog(std::int64_t most) : most_(most) {}

  /// Borrowed. Must be set before the first copy is submitted.
  void use_clock(const engine::Clock& cell) { clock_ = &cell; }
  engine::Nanos now() const { return clock_ ? clock_->now() : engine::Nanos{0}; }
  void add(const LoggedCopy& copy) {
    const std::lock_guard lock(mutex_);
    if (static_cast<std::int64_t>(copies_.size()) < most_)
      copies_.push_back(copy);
    else
      ++left_out_;
  }

  // Only valid when no copy is in flight.
  const std::vector<LoggedCopy>& copies() const { return copies_; }
  std::int64_t left_out() const { return left_out_; }

 private:
  const engine::Clock* clock_ = nullptr;
  std::int64_t most_;
  std::mutex mutex_;
  std::vector<LoggedCopy> copies_;
  std::int64_t left_out_ = 0;
};

}  // namespace backends
