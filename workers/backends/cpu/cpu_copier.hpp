#pragma once
#include <array>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

#include "workers/backends/copy_log.hpp"
#include "workers/backends/cpu/kv_arena.hpp"
#include "workers/engine/block_copier.hpp"

namespace backends {

/// What goes wrong with a batch, for tests that show that it would be noticed.
enum class CopyFault : std::uint8_t {
  none,
  skip,            // its first block is not copied
  stop_short,      // reported done when its first block is copied; the others never are
  complete_early,  // reported done, with checksums, at once; copied before the next batch of its
                   // direction, if any
};

struct CopierOptions {
  /// Of what is to be copied, and of what has arrived.
  bool checksums = false;
  /// Called on the copying thread when a batch begins; may be empty.
  std::function<CopyFault(engine::CopyId)> fault;
  /// Borrowed; null: copies are not logged.
  CopyLog* log = nullptr;
};

/// Copies blocks between the arena that a CpuBackend computes with and one that stands for host
/// slots, on a thread of its own that serves both directions in turns, a block at a time.
class CpuCopier final : public engine::BlockCopier {
 public:
  /// Both arenas are borrowed, of one layout and type, and must outlive the copier. Throws
  /// std::invalid_argument when they differ.
  CpuCopier(KvArena& device, KvArena& host, CopierOptions options = {});
  ~CpuCopier() override;
  CpuCopier(const CpuCopier&) = delete;
  CpuCopier& operator=(const CpuCopier&) = delete;

  engine::CopyId submit(engine::CopyDirection direction, std::span<const engine::BlockCopy> copies,
                        engine::Nanos now) override;
  /// With checksums, throws CorruptBlock when a copy is not what was to be copied, or a loaded slot
  /// not what was stored, and UncheckedCopy when a batch comes back with fewer than it has copies.
  void poll(engine::Nanos now, std::vector<engine::CopyDone>& done) override;
  std::optional<engine::Nanos> next_completion() const override { return std::nullopt; }
  bool withdraw(engine::CopyId id, engine::Nanos now) override;
  /// Until nothing is under way in either direction.
  void wait() override;

 private:
  struct Batch {
    engine::CopyId id;
    engine::CopyDirection direction;
    std::vector<engine::BlockCopy> copies;
    engine::Nanos issued{0};                     // on the log's clock
    std::vector<std::uint64_t> expected, found;  // checksums by copy, if any
    CopyFault fault = CopyFault::none;
    std::size_t next = 0;  // copies before it are done
    bool begun = false;
    engine::Nanos busy{0};
  };
  using Queue = std::list<Batch>;  // the thread copies a batch in place while others come and go

  Queue& queue(engine::CopyDirection direction) {
    return queues_[static_cast<std::size_t>(direction)];
  }
  bool idle() const { return queues_[0].empty() && queues_[1].empty(); }
  void expect_checksums(Batch& batch);
  void verify(const Batch& batch) const;
  void serve(const std::stop_token& stop);
  Queue& next_queue();
  void copy_next(Batch& batch);
  void copy(const Batch& batch, std::size_t at) const;
  void complete(Queue& from);

  KvArena& device_;
  KvArena& host_;
  CopierOptions options_;
  std::uint64_t submitted_ = 0;
  std::vector<std::uint64_t> slot_checksums_;  // of what was stored last

  std::mutex mutex_;  // guards what follows; a batch at the front of its queue is the thread's
  std::condition_variable_any work_, progress_;
  std::array<Queue, 2> queues_;  // by direction
  std::array<Queue, 2> late_;    // reported done without having been copied: planted faults
  std::vector<Batch> done_;
  bool turn_ = false;    // which direction is served next
  std::jthread thread_;  // last: it starts when everything else is there
};

}  // namespace backends
