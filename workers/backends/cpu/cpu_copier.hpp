#pragma once
#include <array>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "workers/backends/cpu/kv_arena.hpp"
#include "workers/backends/errors.hpp"
#include "workers/engine/step/block_copier.hpp"

namespace backends {

/// Injected faults of a batch, for tests that show that they are detected.
enum class CopyFault : std::uint8_t {
  none,
  skip,            // its first block is not copied
  stop_short,      // reported done after its first block; the others are never copied
  complete_early,  // reported done, with checksums, at once; copied when a batch of its direction
                   // is submitted after that, if any is
};

struct CopierOptions {
  /// Compute checksums of sources and destinations.
  bool checksums = false;
  /// Called on the copying thread when a batch starts; may be empty.
  std::function<CopyFault(engine::CopyId)> fault;
};

/// Copies blocks between the arena of a CpuBackend and one that serves as host slots, on its own
/// thread, which alternates between the two directions, a block at a time.
class CpuCopier final : public engine::BlockCopier {
 public:
  /// Both arenas are borrowed and must outlive the copier. Throws std::invalid_argument when their
  /// layouts or types differ.
  CpuCopier(KvArena& device, KvArena& host, CopierOptions options = {});
  ~CpuCopier() override;
  CpuCopier(const CpuCopier&) = delete;
  CpuCopier& operator=(const CpuCopier&) = delete;

  /// After a complete_early, with checksums, throws CorruptBlock as poll() does.
  engine::CopyId submit(engine::CopyDirection direction, std::span<const engine::BlockCopy> copies,
                        engine::Nanos now) override;
  /// With checksums, throws CorruptBlock when a copy differs from its source, when a loaded slot
  /// differs from what was stored in it, or when a block was written between the submission of its
  /// load and the copy; throws UncheckedCopy when a batch has fewer checksums than copies.
  void poll(engine::Nanos now, std::vector<engine::CopyDone>& done) override;
  std::optional<engine::Nanos> next_completion() const override { return std::nullopt; }
  bool withdraw(engine::CopyId id, engine::Nanos now) override;
  /// Waits until nothing is in flight in either direction.
  void wait() override;

 private:
  struct Batch {
    engine::CopyId id;
    engine::CopyDirection direction;
    std::vector<engine::BlockCopy> copies;
    std::vector<std::uint64_t> expected, found;  // checksums by copy, if any
    std::uint64_t poison = 0;                    // checksum of a load's blocks before the copy
    std::optional<CorruptBlock> overwritten;     // the first block that had another one
    CopyFault fault = CopyFault::none;
    std::size_t next = 0;  // copies before it are done
    bool begun = false;
    engine::Nanos busy{0};
  };
  using Queue = std::list<Batch>;  // stable addresses: the thread copies a batch in place

  Queue& queue(engine::CopyDirection direction) {
    return queues_[static_cast<std::size_t>(direction)];
  }
  bool idle() const { return queues_[0].empty() && queues_[1].empty(); }
  void copy_late(engine::CopyDirection direction);
  void expect_checksums(Batch& batch);
  void expect_poison(Batch& batch, std::size_t at) const;
  void verify(const Batch& batch) const;
  static std::string where(const Batch& batch, std::size_t at);
  void serve(const std::stop_token& stop);
  Queue& next_queue();
  void copy_next(Batch& batch);
  void copy(Batch& batch, std::size_t at) const;
  void complete(Queue& from);

  KvArena& device_;
  KvArena& host_;
  CopierOptions options_;
  std::uint64_t submitted_ = 0;
  std::vector<std::uint64_t> slot_checksums_;  // of the last store

  std::mutex mutex_;  // guards the members below; the thread owns the batch at the front of a queue
  std::condition_variable_any work_, progress_;
  std::array<Queue, 2> queues_;  // by direction
  std::array<Queue, 2> late_;    // reported done but not copied: injected faults
  std::vector<Batch> done_;
  bool turn_ = false;    // which direction is served next
  std::jthread thread_;  // declared last: it starts after everything else is initialized
};

}  // namespace backends
