#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "workers/engine/step/block_copier.hpp"

namespace backends {

/// Makes host memory accessible to the copy engines of a device; the tier's background thread calls
/// it. Empty functions leave memory pageable: the driver stages copies, and they block the caller.
struct PageLocking {
  std::function<void(std::byte* data, std::size_t bytes)> lock;
  std::function<void(std::byte* data)> unlock;  // throws nothing
};

/// A piece of mapped memory, which it owns.
struct Unmap {
  std::size_t bytes = 0;
  void operator()(std::byte* data) const noexcept;
};
using Mapping = std::unique_ptr<std::byte, Unmap>;

struct HostMemoryOptions {
  std::size_t piece_bytes = std::size_t{1} << 30;  // unit of mapping, touching and locking
  int touch_threads = 4;
  int numa_node = -1;  // preferred node of the pages; negative: the kernel's choice
};

/// Host memory for KV blocks, in slots of one block. Mapped in pieces on huge pages, near the
/// device. A background thread touches and page-locks the pieces one by one while the owner
/// continues. Outlives cells, and never shrinks.
///
/// All calls must come from one thread.
class HostMemory {
 public:
  HostMemory(PageLocking locking, const HostMemoryOptions& options);
  ~HostMemory();
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  /// Reserves `slots` slots of `slot_bytes` for the next cell. Earlier content of slots is lost.
  /// Throws engine::InputError when a slot is larger than a piece.
  void reserve(int slots, std::size_t slot_bytes);

  int slots() const { return slots_; }
  std::size_t slot_bytes() const { return slot_bytes_; }
  /// Whether copies run asynchronously: not from and to pageable memory.
  bool asynchronous() const { return locking_.lock != nullptr; }
  /// True when the background thread has stopped on an error, which reserve() and the waits
  /// rethrow: no more slots become ready.
  bool failed();
  /// Waits until all reserved slots are ready; returns false when `stop` is requested first.
  bool wait_ready(std::stop_token stop = {});
  /// Bytes mapped so far.
  std::int64_t bytes() const { return std::ssize(pieces_) * piece_bytes(); }
  /// Time and bytes that the background thread has worked on.
  double locking_seconds() const { return engine::to_seconds(engine::Nanos{locking_ns_.load()}); }
  std::int64_t locked_bytes() const { return pieces_ready_.load() * piece_bytes(); }

  /// Waits until slots [0, n) are ready.
  void wait_slots(int n);

  /// Memory of a ready slot.
  std::byte* slot(engine::HostSlot slot) const;

 private:
  void prepare_pieces(const std::stop_token& stop);
  void prepare_piece(std::byte* piece);
  void rethrow_failure();
  std::int64_t piece_bytes() const { return static_cast<std::int64_t>(options_.piece_bytes); }

  PageLocking locking_;
  HostMemoryOptions options_;
  int slots_ = 0;
  std::size_t slot_bytes_ = 0;
  int slots_per_piece_ = 1;
  std::vector<Mapping> pieces_;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<std::byte*> to_ready_;  // the same pieces, for the thread; guarded by mutex_
  std::exception_ptr failure_;        // guarded by mutex_
  std::atomic<int> pieces_ready_{0};
  std::atomic<std::int64_t> locking_ns_{0};
  std::jthread worker_;
};

}  // namespace backends
