#include "workers/backends/cuda/device/host_memory.hpp"

#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <system_error>

#include "workers/engine/base/clock.hpp"
#include "workers/engine/base/errors.hpp"

namespace backends {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kPage = 4096;

/// Maps memory that starts at a huge page: maps one huge page more, and unmaps the excess.
Mapping map_aligned(std::size_t bytes) {
  void* raw = mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED)
    throw std::system_error(errno, std::generic_category(),
                            "mapping " + std::to_string(bytes) + " bytes for the host tier");
  auto* start = static_cast<std::byte*>(raw);
  const auto address = reinterpret_cast<std::uintptr_t>(raw);
  const std::size_t before = (kHugePage - address % kHugePage) % kHugePage;
  if (before > 0) munmap(start, before);
  munmap(start + before + bytes, kHugePage - before);
  madvise(start + before, bytes, MADV_HUGEPAGE);  // a hint: without huge pages it is only slower
  return {start + before, Unmap{bytes}};
}

/// Prefers pages of one NUMA node. When the kernel does not know the call or the node, pages come
/// from the nodes of the threads that touch them.
void prefer_node(std::byte* data, std::size_t bytes, int node) {
  constexpr int kBits = 8 * sizeof(unsigned long);
  std::array<unsigned long, 16> mask{};
  if (node < 0 || node >= kBits * static_cast<int>(mask.size())) return;
  mask[static_cast<std::size_t>(node / kBits)] = 1ul << (node % kBits);
  syscall(SYS_mbind, data, bytes, MPOL_PREFERRED, mask.data(), mask.size() * kBits, 0);
}

/// Writes one byte per page, so that the kernel allocates the pages in all threads at once.
void touch(std::byte* data, std::size_t bytes, int threads) {
  std::vector<std::thread> others;
  const std::size_t share =
      (bytes / static_cast<std::size_t>(threads) + kHugePage - 1) / kHugePage * kHugePage;
  for (std::size_t from = 0; from < bytes; from += share)
    others.emplace_back([=] {
      const std::size_t to = std::min(bytes, from + share);
      for (std::size_t at = from; at < to; at += kPage) data[at] = std::byte{0};
    });
  for (std::thread& other : others) other.join();
}

}  // namespace

void Unmap::operator()(std::byte* data) const noexcept { munmap(data, bytes); }

HostMemory::HostMemory(PageLocking locking, const HostMemoryOptions& options)
    : locking_(std::move(locking)), options_(options) {
  options_.piece_bytes = (options_.piece_bytes + kHugePage - 1) / kHugePage * kHugePage;
  options_.touch_threads = std::max(1, options_.touch_threads);
  worker_ = std::jthread([this](const std::stop_token& stop) { prepare_pieces(stop); });
}

HostMemory::~HostMemory() {
  worker_.request_stop();
  worker_.join();
  for (int i = 0; asynchronous() && i < pieces_ready_; ++i)
    locking_.unlock(pieces_[static_cast<std::size_t>(i)].get());
}

void HostMemory::reserve(int slots, std::size_t slot_bytes) {
  rethrow_failure();
  if (slot_bytes == 0 || slot_bytes > options_.piece_bytes)
    throw engine::InputError("a slot of the host tier has between 1 and " +
                             std::to_string(options_.piece_bytes) + " bytes, found " +
                             std::to_string(slot_bytes));
  slots_ = slots;
  slot_bytes_ = slot_bytes;
  slots_per_piece_ = static_cast<int>(options_.piece_bytes / slot_bytes);
  const int pieces = (slots + slots_per_piece_ - 1) / slots_per_piece_;
  while (std::ssize(pieces_) < pieces) {
    pieces_.push_back(map_aligned(options_.piece_bytes));
    const std::lock_guard lock(mutex_);
    to_ready_.push_back(pieces_.back().get());
  }
  changed_.notify_all();
}

bool HostMemory::failed() {
  const std::lock_guard lock(mutex_);
  return failure_ != nullptr;
}

bool HostMemory::wait_ready(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  const bool over = changed_.wait(lock, std::move(stop), [this] {
    return failure_ != nullptr || pieces_ready_ >= std::ssize(pieces_);
  });
  if (failure_ != nullptr) std::rethrow_exception(failure_);
  return over;
}

void HostMemory::wait_slots(int n) {
  const auto ready = [this, n] {
    return std::int64_t{pieces_ready_.load()} * slots_per_piece_ >= n;
  };
  if (ready()) return;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failure_ != nullptr || ready(); });
  if (!ready()) std::rethrow_exception(failure_);
}

std::byte* HostMemory::slot(engine::HostSlot slot) const {
  const auto at = static_cast<std::uint32_t>(slot);
  const auto per_piece = static_cast<std::uint32_t>(slots_per_piece_);
  return pieces_[at / per_piece].get() + at % per_piece * slot_bytes_;
}

void HostMemory::rethrow_failure() {
  const std::lock_guard lock(mutex_);
  if (failure_ != nullptr) std::rethrow_exception(failure_);
}

void HostMemory::prepare_pieces(const std::stop_token& stop) {
  const auto todo = [this] { return std::ssize(to_ready_) > pieces_ready_; };
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, todo) && !stop.stop_requested()) {
    std::byte* piece = to_ready_[static_cast<std::size_t>(pieces_ready_)];
    lock.unlock();
    try {
      prepare_piece(piece);
    } catch (...) {
      lock.lock();
      failure_ = std::current_exception();
      changed_.notify_all();
      return;
    }
    lock.lock();
    ++pieces_ready_;
    changed_.notify_all();
  }
}

void HostMemory::prepare_piece(std::byte* piece) {
  const engine::WallClock clock;
  prefer_node(piece, options_.piece_bytes, options_.numa_node);
  touch(piece, options_.piece_bytes, options_.touch_threads);
  if (asynchronous()) locking_.lock(piece, options_.piece_bytes);
  locking_ns_ += clock.now().count();
}

}  // namespace backends
