#include "workers/backends/cuda/cuda_copier.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "kernels/blocks/blocks.hpp"
#include "workers/backends/cuda/device/profiler_range.hpp"
#include "workers/backends/errors.hpp"

namespace backends::cuda {

using engine::BlockCopy;
using engine::CopyDirection;

CudaCopier::CudaCopier(int device, const BlockArena& arena, HostMemory& tier, const Event& fence,
                       Options options)
    : device_(device),
      arena_(arena),
      tier_(tier),
      fence_(fence),
      options_(std::move(options)),
      // Loads get priority, because requests wait for them; stores only have to keep up.
      lanes_{Lane(Stream::Priority::low), Lane(Stream::Priority::high)},
      stored_(options_.debug ? static_cast<std::size_t>(tier.slots()) : 0) {
  static_assert(static_cast<int>(CopyDirection::store) == 0, "lanes_ is in the enum's order");
}

CudaCopier::~CudaCopier() {
  for (const Lane& lane : lanes_) cudaStreamSynchronize(lane.stream.get());
}

std::byte* CudaCopier::block(engine::BlockId id) const {
  return arena_.data + std::int64_t{index(id)} * arena_.block_bytes;
}

engine::CopyId CudaCopier::submit(CopyDirection direction, std::span<const BlockCopy> copies,
                                  engine::Nanos) {
  const ProfilerRange range(
      direction == CopyDirection::store ? ProfilerName::save : ProfilerName::restore,
      submitted_ + 1);
  check(cudaSetDevice(device_), "choosing the device");
  int slots = 0;
  for (const BlockCopy& copy : copies)
    slots = std::max(slots, static_cast<int>(index(copy.slot)) + 1);
  tier_.wait_slots(slots);
  Lane& way = lane(direction);
  Batch batch;
  if (!way.spare.empty()) {
    batch = std::move(way.spare.back());
    way.spare.pop_back();
  }
  batch.id = engine::CopyId{++submitted_};
  batch.bytes = static_cast<std::int64_t>(copies.size()) * arena_.block_bytes;
  const bool skip = options_.skip_copy && !copies.empty() && options_.skip_copy(batch.id);
  list_copies(direction, skip ? copies.subspan(1) : copies);
  order_after(way.stream, fence_);
  if (options_.debug) upload_ids(batch, copies, way.stream);
  if (options_.debug && direction == CopyDirection::store) enqueue_checksums(batch, way.stream);
  if (options_.debug && direction == CopyDirection::load) enqueue_poison(batch, way.stream);
  batch.start.record(way.stream);
  enqueue_copies(direction, way.stream);
  if (options_.debug && direction == CopyDirection::load) enqueue_checksums(batch, way.stream);
  batch.end.record(way.stream);
  way.batches.push_back(std::move(batch));
  return engine::CopyId{submitted_};
}

void CudaCopier::list_copies(CopyDirection direction, std::span<const BlockCopy> copies) {
  to_.clear();
  from_.clear();
  for (const BlockCopy& copy : copies) {
    const bool store = direction == CopyDirection::store;
    std::byte* const host = tier_.slot(copy.slot);
    to_.push_back(store ? host : block(copy.block));
    from_.push_back(store ? block(copy.block) : host);
  }
  sizes_.assign(to_.size(), static_cast<std::size_t>(arena_.block_bytes));
}

void CudaCopier::enqueue_copies(CopyDirection direction, const Stream& stream) {
  // The driver only batches copies of page-locked memory.
  if (!tier_.asynchronous()) return copy_one_by_one(stream);
  if (!to_.empty()) copy_batch(direction, stream);
}

/// One driver call per copy; with pageable memory each returns when the copy is done.
void CudaCopier::copy_one_by_one(const Stream& stream) {
  for (std::size_t i = 0; i < to_.size(); ++i)
    check(cudaMemcpyAsync(to_[i], from_[i], sizes_[i], cudaMemcpyDefault, stream.get()),
          "copying a KV block");
}

/// All copies, in any order. One driver call on CUDA 12.8 and later, whatever their number.
void CudaCopier::copy_batch([[maybe_unused]] CopyDirection direction, const Stream& stream) {
#if CUDART_VERSION >= 12080
  // Nothing writes a host slot while it is loaded, so the source may be read early. A device block
  // that is stored may still be written by the step that the stream waits for.
  cudaMemcpyAttributes how{};
  how.srcAccessOrder = direction == CopyDirection::load ? cudaMemcpySrcAccessOrderAny
                                                        : cudaMemcpySrcAccessOrderStream;
  how.flags = cudaMemcpyFlagPreferOverlapWithCompute;
  std::size_t first = 0;
#if CUDART_VERSION >= 13000
  check(cudaMemcpyBatchAsync(to_.data(), from_.data(), sizes_.data(), to_.size(), &how, &first, 1,
                             stream.get()),
        "copying KV blocks");
#else
  std::size_t failed = 0;
  check(cudaMemcpyBatchAsync(to_.data(), from_.data(), sizes_.data(), to_.size(), &how, &first, 1,
                             &failed, stream.get()),
        "copying KV blocks");
#endif
#else
  copy_one_by_one(stream);
#endif
}

void CudaCopier::upload_ids(Batch& batch, std::span<const BlockCopy> copies, const Stream& stream) {
  const std::size_t n = copies.size();
  Checks& checks = batch.checks;
  checks.slots.clear();
  if (n == 0) return;
  constexpr std::size_t kRow = sizeof(std::uint64_t) + sizeof(std::int32_t);
  if (checks.host.bytes() < n * kRow) {
    checks.host = PinnedBuffer(n * kRow);
    checks.device = DeviceBuffer(n * kRow);
  }
  const std::size_t ids_at = n * sizeof(std::uint64_t);
  auto* const ids = reinterpret_cast<std::int32_t*>(checks.host.data() + ids_at);
  for (std::size_t i = 0; i < n; ++i) {
    ids[i] = static_cast<std::int32_t>(index(copies[i].block));
    checks.slots.push_back(copies[i].slot);
  }
  check(cudaMemcpyAsync(checks.device.data() + ids_at, ids, n * sizeof(std::int32_t),
                        cudaMemcpyHostToDevice, stream.get()),
        "copying block ids");
}

/// Poisons blocks before they are loaded: a block that is not loaded is detected whatever it held,
/// and a read before the load gives NaN.
void CudaCopier::enqueue_poison(const Batch& batch, const Stream& stream) {
  const int n = static_cast<int>(batch.checks.slots.size());
  if (n == 0) return;
  with_device_errors([&] {
    kernels::gpu::poison_blocks(arena_.data, arena_.block_bytes, batch.checks.ids(), n,
                                stream.get());
  });
}

void CudaCopier::enqueue_checksums(Batch& batch, const Stream& stream) {
  Checks& checks = batch.checks;
  const std::size_t n = checks.slots.size();
  if (n == 0) return;
  with_device_errors([&] {
    kernels::gpu::checksum_blocks(arena_.data, arena_.block_bytes, checks.ids(),
                                  static_cast<int>(n), checks.device.as<std::uint64_t>(),
                                  stream.get());
  });
  check(cudaMemcpyAsync(checks.host.data(), checks.device.data(), n * sizeof(std::uint64_t),
                        cudaMemcpyDeviceToHost, stream.get()),
        "reading checksums");
}

void CudaCopier::compare(CopyDirection direction, const Batch& batch) {
  const auto* const sums = batch.checks.host.as<std::uint64_t>();
  const std::size_t n = batch.checks.slots.size();
  const auto* const ids =
      reinterpret_cast<const std::int32_t*>(batch.checks.host.data() + n * sizeof(std::uint64_t));
  for (std::size_t i = 0; i < n; ++i) {
    const auto slot = static_cast<std::uint32_t>(batch.checks.slots[i]);
    std::uint64_t& stored = stored_.at(slot);
    if (direction == CopyDirection::store) {
      stored = sums[i];
    } else if (stored != sums[i]) {
      throw CorruptBlock(engine::BlockId{static_cast<std::uint32_t>(ids[i])},
                         "load " + std::to_string(static_cast<std::uint64_t>(batch.id)) +
                             ", host slot " + std::to_string(slot),
                         stored, sums[i]);
    }
  }
}

void CudaCopier::poll(engine::Nanos, std::vector<engine::CopyDone>& done) {
  for (const CopyDirection direction : {CopyDirection::store, CopyDirection::load}) {
    Lane& way = lane(direction);
    while (!way.batches.empty() && way.batches.front().end.reached()) {
      Batch batch = std::move(way.batches.front());
      way.batches.pop_front();
      if (options_.debug) compare(direction, batch);
      const double busy = Event::seconds_between(batch.start, batch.end);
      way.traffic.bytes += batch.bytes;
      way.traffic.busy_seconds += busy;
      done.push_back({.id = batch.id, .busy = engine::from_seconds(busy)});
      batch.checks.slots.clear();
      way.spare.push_back(std::move(batch));
    }
  }
}

void CudaCopier::wait() {
  const Batch* oldest = nullptr;
  for (const Lane& way : lanes_)
    if (!way.batches.empty() && (oldest == nullptr || way.batches.front().id < oldest->id))
      oldest = &way.batches.front();
  if (oldest != nullptr) oldest->end.synchronize();
}

}  // namespace backends::cuda
