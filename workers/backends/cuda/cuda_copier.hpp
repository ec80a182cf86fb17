#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "workers/backends/cuda/device/handles.hpp"
#include "workers/backends/cuda/device/host_memory.hpp"
#include "workers/engine/step/block_copier.hpp"

namespace backends::cuda {

/// Blocks of a device pool: block b starts at data + b * block_bytes.
struct BlockArena {
  std::byte* data = nullptr;
  std::int64_t block_bytes = 0;
};

/// Copies KV blocks between a device pool and the host tier, with one stream per direction.
///
/// Both directions start after the last executed step: stores read what it wrote, and loads must
/// not overwrite what it still reads. No step waits for a load, because the engine plans a step on
/// loaded blocks only after poll() has reported them. With pageable host memory, submit() copies
/// before it returns.
class CudaCopier final : public engine::BlockCopier {
 public:
  struct Options {
    /// Poisons blocks before they are loaded, and compares checksums of loaded and stored data.
    bool debug = false;
    std::function<bool(engine::CopyId)> skip_copy;  // as in CudaCellOptions; may be empty
  };
  /// `fence` is reached when the last executed step has completed. All are borrowed. submit() waits
  /// for slots of its batch that are not ready.
  CudaCopier(int device, const BlockArena& arena, HostMemory& tier, const Event& fence,
             Options options);
  /// Waits for copies in flight: their memory may be freed afterwards.
  ~CudaCopier() override;

  engine::CopyId submit(engine::CopyDirection direction, std::span<const engine::BlockCopy> copies,
                        engine::Nanos now) override;
  /// Throws CorruptBlock in debug mode, and the errors of the device.
  void poll(engine::Nanos now, std::vector<engine::CopyDone>& done) override;
  std::optional<engine::Nanos> next_completion() const override { return std::nullopt; }
  void wait() override;

  /// Totals since construction, by direction.
  struct Traffic {
    std::int64_t bytes = 0;
    double busy_seconds = 0;
  };
  const Traffic& traffic(engine::CopyDirection direction) const { return lane(direction).traffic; }

 private:
  /// Debug-mode buffers of a batch: block ids to the device, checksums back.
  struct Checks {
    std::vector<engine::HostSlot> slots;
    PinnedBuffer host;    // [n] checksums, then [n] block ids
    DeviceBuffer device;  // the same

    const std::int32_t* ids() const {
      return reinterpret_cast<const std::int32_t*>(device.data() +
                                                   slots.size() * sizeof(std::uint64_t));
    }
  };
  struct Batch {
    engine::CopyId id{};
    std::int64_t bytes = 0;
    Event start, end;
    Checks checks;
  };
  struct Lane {
    explicit Lane(Stream::Priority priority) : stream(priority) {}
    Stream stream;
    std::deque<Batch> batches;  // in flight, oldest first
    std::vector<Batch> spare;   // completed; their events are reused
    Traffic traffic;
  };
  Lane& lane(engine::CopyDirection d) { return lanes_[static_cast<std::size_t>(d)]; }
  const Lane& lane(engine::CopyDirection d) const { return lanes_[static_cast<std::size_t>(d)]; }
  std::byte* block(engine::BlockId id) const;
  void list_copies(engine::CopyDirection direction, std::span<const engine::BlockCopy> copies);
  void enqueue_copies(engine::CopyDirection direction, const Stream& stream);
  void copy_one_by_one(const Stream& stream);
  void copy_batch(engine::CopyDirection direction, const Stream& stream);
  void upload_ids(Batch& batch, std::span<const engine::BlockCopy> copies, const Stream& stream);
  void enqueue_poison(const Batch& batch, const Stream& stream);
  void enqueue_checksums(Batch& batch, const Stream& stream);
  void compare(engine::CopyDirection direction, const Batch& batch);

  int device_;
  BlockArena arena_;
  HostMemory& tier_;
  const Event& fence_;
  Options options_;
  std::array<Lane, 2> lanes_;
  std::uint64_t submitted_ = 0;
  std::vector<void*> to_;              // for the batch being submitted
  std::vector<void*> from_;            // the same
  std::vector<std::size_t> sizes_;     // the same
  std::vector<std::uint64_t> stored_;  // debug: checksum by slot
};

}  // namespace backends::cuda
