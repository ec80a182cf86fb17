#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "workers/engine/block_copier.hpp"

namespace backends {

/// Makes host memory reachable for the copy engines of a device. Called by the tier's background
/// thread.
class PageLocker {
 public:
  virtual ~PageLocker() = default;
  /// Whether copies from and to this memory run beside the caller: false for pageable memory.
  virtual bool asynchronous() const = 0;
  virtual void lock(std::byte* data, std::size_t bytes) = 0;
  virtual void unlock(std::byte* data, std::size_t bytes) noexcept = 0;
};

struct HostMemoryOptions {
  std::size_t piece_bytes = std::size_t{1} << 30;  // mapped, touched and locked at a time
  int touch_threads = 4;
  int numa_node = -1;  // where the pages are wanted; negative: wherever the kernel puts them
};

/// Host memory for KV blocks, in slots of one block. Mapped in pieces on huge pages, near the
/// device; a background thread touches and page-locks piece after piece while its owner goes on.
/// Lives longer than a cell, and never shrinks.
///
/// All calls come from one thread.
class HostMemory {
 public:
  HostMemory(std::unique_ptr<PageLocker> locker, const HostMemoryOptions& options);
  ~HostMemory();
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  /// `slots` slots of `slot_bytes` for the next cell. What slots held before is void. Throws
  /// engine::InputError when a slot is larger than a piece.
  void reserve(int slots, std::size_t slot_bytes);

  int slots() const { return slots_; }
  std::size_t slot_bytes() const { return slot_bytes_; }
  bool asynchronous() const { return locker_->asynchronous(); }
  /// Slots [0, n) that may be used so far. Rethrows what stopped the background thread.
  int ready_slots();
  /// The background thread has stopped: the tier gets no larger, and ready_slots() says why.
  bool failed();
  /// Returns when all reserved slots are ready, or with false when it is asked to stop before.
  bool wait_ready(std::stop_token stop = {});
  /// Mapped so far, bytes.
  std::int64_t bytes() const { return static_cast<std::int64_t>(pieces_wanted_) * piece_bytes(); }
  /// How long the background thread has worked, and for how many bytes.
  double locking_seconds() const { return engine::to_seconds(engine::Nanos{locking_ns_.load()}); }
  std::int64_t locked_bytes() const { return pieces_ready_.load() * piece_bytes(); }

  /// Returns when slots [0, n) are ready; at once where they are.
  void wait_slots(int n);

  /// Memory of a ready slot.
  std::byte* slot(engine::HostSlot slot) const;

 private:
  void prepare_pieces();
  void prepare_piece(std::byte* piece);
  void rethrow_failure();
  std::int64_t piece_bytes() const { return static_cast<std::int64_t>(options_.piece_bytes); }

  std::unique_ptr<PageLocker> locker_;
  HostMemoryOptions options_;
  int slots_ = 0;
  std::size_t slot_bytes_ = 0;
  int slots_per_piece_ = 1;
  std::vector<std::byte*> bases_;  // by piece; grown by reserve() before a piece is wanted

  std::mutex mutex_;
  std::condition_variable_any changed_;
  int pieces_wanted_ = 0;             // guarded by mutex_
  std::vector<std::byte*> to_ready_;  // guarded by mutex_
  bool stop_ = false;                 // guarded by mutex_
  std::exception_ptr failure_;        // guarded by mutex_
  std::atomic<int> pieces_ready_{0};
  std::atomic<std::int64_t> locking_ns_{0};
  std::thread worker_;
};

/// Memory as the kernel gives it: copies are staged by the driver and block the caller.
std::unique_ptr<PageLocker> no_page_locking();

}  // namespace backends
