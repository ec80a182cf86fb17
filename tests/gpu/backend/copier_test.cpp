#include <algorithm>
#include <cstring>

#include "kernels/blocks/blocks.hpp"
#include "tests/gpu/backend/gpu_world.hpp"
#include "workers/backends/cuda/cuda_copier.hpp"
#include "workers/backends/errors.hpp"

using namespace gpu_backend_test;
using backends::HostMemory;
using backends::cuda::CudaCopier;
using backends::cuda::DeviceBuffer;
using backends::cuda::Event;
using backends::cuda::Stream;
using engine::BlockCopy;
using engine::CopyDirection;

namespace {

constexpr int kArenaBlocks = 64, kSlots = 96;

/// A pool, host memory and the copier between them; block b is filled with a pattern of its own.
class CopyWorld {
 public:
  explicit CopyWorld(std::int64_t block_bytes = 128 << 10, CudaCopier::Options options = {},
                     bool pinned = true)
      : block_bytes_(block_bytes),
        pool_(static_cast<std::size_t>(kArenaBlocks * block_bytes)),
        memory_(pinned ? cuda_locking() : backends::PageLocking{},
                {.piece_bytes = std::size_t{4} << 20, .touch_threads = 2, .numa_node = -1}) {
    memory_.reserve(kSlots, static_cast<std::size_t>(block_bytes));
    memory_.wait_ready();
    copier.emplace(0, backends::cuda::BlockArena{pool_.data(), block_bytes}, memory_, fence,
                   std::move(options));
    for (int b = 0; b < kArenaBlocks; ++b) fill(b, b);
  }

  void fill(int block, int pattern) {
    const std::vector<std::uint32_t> words = words_of(pattern);
    backends::cuda::check(
        cudaMemcpy(pool_.data() + block * block_bytes_, words.data(),
                   static_cast<std::size_t>(block_bytes_), cudaMemcpyHostToDevice),
        "filling a block");
  }
  bool holds(int block, int pattern) const {
    std::vector<std::uint32_t> words(static_cast<std::size_t>(block_bytes_) / 4);
    backends::cuda::check(
        cudaMemcpy(words.data(), pool_.data() + block * block_bytes_,
                   static_cast<std::size_t>(block_bytes_), cudaMemcpyDeviceToHost),
        "reading a block");
    return words == words_of(pattern);
  }
  engine::CopyId submit(CopyDirection direction, const std::vector<BlockCopy>& copies) {
    return copier->submit(direction, copies, engine::Nanos{0});
  }
  std::vector<engine::CopyId> finish() {
    std::vector<engine::CopyDone> done;
    while (done.size() < static_cast<std::size_t>(under_way)) {
      copier->wait();
      copier->poll(engine::Nanos{0}, done);
    }
    under_way = 0;
    std::vector<engine::CopyId> ids;
    for (const auto& one : done) ids.push_back(one.id);
    return ids;
  }
  void move(CopyDirection direction, const std::vector<BlockCopy>& copies) {
    submit(direction, copies);
    under_way = 1;
    finish();
  }

  Event fence;
  int under_way = 0;
  std::optional<CudaCopier> copier;
  std::byte* pool() const { return pool_.data(); }

 private:
  std::vector<std::uint32_t> words_of(int pattern) const {
    std::vector<std::uint32_t> words(static_cast<std::size_t>(block_bytes_) / 4);
    for (std::size_t i = 0; i < words.size(); ++i)
      words[i] = static_cast<std::uint32_t>(pattern) * 2654435761u + static_cast<std::uint32_t>(i);
    return words;
  }

  std::int64_t block_bytes_;
  DeviceBuffer pool_;
  HostMemory memory_;
};

BlockCopy copy(int block, int slot) {
  return {engine::BlockId{static_cast<std::uint32_t>(block)},
          engine::HostSlot{static_cast<std::uint32_t>(slot)}};
}

/// Blocks [first, first + count) with slots in another order, spread over several pieces.
std::vector<BlockCopy> scattered(int first, int count) {
  std::vector<BlockCopy> all;
  for (int i = 0; i < count; ++i) all.push_back(copy(first + i, (first + i) * 67 % kSlots));
  return all;
}

}  // namespace

TEST_CASE("blocks come back from the host as they were stored, whatever became of the pool") {
  NEEDS_DEVICE;
  const bool pinned = GENERATE(true, false);
  const std::int64_t bytes =
      GENERATE(std::int64_t{16}, std::int64_t{4096} + 48, std::int64_t{2} << 20);
  CopyWorld world(bytes, {.debug = true, .skip_copy = {}}, pinned);
  const auto copies = scattered(0, kArenaBlocks);
  world.move(CopyDirection::store, copies);
  for (int b = 0; b < kArenaBlocks; ++b) world.fill(b, 1000 + b);
  world.move(CopyDirection::load, copies);
  for (int b = 0; b < kArenaBlocks; ++b) CHECK(world.holds(b, b));
}

TEST_CASE("batches of one direction are reported in order of submission, each once") {
  NEEDS_DEVICE;
  CopyWorld world;
  std::vector<engine::CopyId> stores;
  for (int i = 0; i < 20; ++i)
    stores.push_back(world.submit(CopyDirection::store, scattered(i, 3)));
  world.under_way = 20;
  CHECK(world.finish() == stores);
  std::vector<engine::CopyDone> none;
  world.copier->poll(engine::Nanos{0}, none);
  CHECK(none.empty());
}

TEST_CASE("both directions run at once, and busy time and bytes are counted for each") {
  NEEDS_DEVICE;
  CopyWorld world(2 << 20);
  world.move(CopyDirection::store, scattered(0, 32));
  world.submit(CopyDirection::load, scattered(0, 32));
  world.submit(CopyDirection::store, scattered(32, 32));
  world.under_way = 2;
  CHECK(world.finish().size() == 2);
  CHECK(world.copier->traffic(CopyDirection::store).bytes == 64 * (2 << 20));
  CHECK(world.copier->traffic(CopyDirection::load).bytes == 32 * (2 << 20));
  CHECK(world.copier->traffic(CopyDirection::load).busy_seconds > 0);
}

TEST_CASE("a store reads what the steps before it have written") {
  NEEDS_DEVICE;
  CopyWorld world(2 << 20, {.debug = true, .skip_copy = {}});
  Stream steps;
  const std::vector<std::int32_t> ids = {5};
  DeviceBuffer blocks(sizeof(std::int32_t));
  backends::cuda::check(cudaMemcpy(blocks.data(), ids.data(), 4, cudaMemcpyHostToDevice), "ids");
  // Long enough that a store that did not wait would read the earlier pattern.
  DeviceBuffer busy(std::size_t{1} << 30);
  for (int i = 0; i < 20; ++i)
    backends::cuda::check(cudaMemsetAsync(busy.data(), i, busy.bytes(), steps.get()), "work");
  kernels::gpu::poison_blocks(world.pool(), 2 << 20, blocks.as<std::int32_t>(), 1, steps.get());
  world.fence.record(steps);
  world.move(CopyDirection::store, {copy(5, 0)});
  world.move(CopyDirection::load, {copy(6, 0)});
  std::vector<std::uint32_t> words(16);
  backends::cuda::check(
      cudaMemcpy(words.data(), world.pool() + 6 * (2 << 20), 64, cudaMemcpyDeviceToHost), "read");
  CHECK(words == std::vector<std::uint32_t>(16, 0xffffffffu));
}

TEST_CASE("a copy that is left out of a store is noticed when its slot is loaded") {
  NEEDS_DEVICE;
  CopyWorld world(64 << 10, {.debug = true, .skip_copy = [](engine::CopyId id) {
                               return id == engine::CopyId{2};
                             }});
  world.move(CopyDirection::store, scattered(0, 8));
  world.move(CopyDirection::store, scattered(8, 8));
  world.move(CopyDirection::load, scattered(0, 8));
  CHECK_THROWS_AS(world.move(CopyDirection::load, scattered(8, 8)), backends::CorruptBlock);
}

TEST_CASE("a copy that is left out of a load is noticed, whatever the block held before") {
  NEEDS_DEVICE;
  const bool holds_the_same = GENERATE(false, true);
  CopyWorld world(64 << 10, {.debug = true, .skip_copy = [](engine::CopyId id) {
                               return id == engine::CopyId{2};
                             }});
  world.move(CopyDirection::store, scattered(0, 8));
  for (int b = 0; b < 8; ++b) world.fill(b, holds_the_same ? b : 99);
  CHECK_THROWS_AS(world.move(CopyDirection::load, scattered(0, 8)), backends::CorruptBlock);
}

TEST_CASE("a block that is reallocated before its store is done is detected when it is loaded") {
  NEEDS_DEVICE;
  CopyWorld world(2 << 20, {.debug = true, .skip_copy = {}});
  world.move(CopyDirection::store, scattered(0, kArenaBlocks));
  // Stores all slots again and, while that is in flight, overwrites the blocks one by one from the
  // last.
  world.submit(CopyDirection::store, scattered(0, kArenaBlocks));
  Stream other;
  for (int b = kArenaBlocks - 1; b >= 0; --b)
    backends::cuda::check(
        cudaMemsetAsync(world.pool() + std::int64_t{b} * (2 << 20), 0x5a, 2 << 20, other.get()),
        "early reuse");
  world.under_way = 1;
  world.finish();
  other.synchronize();
  CHECK_THROWS_AS(world.move(CopyDirection::load, scattered(0, kArenaBlocks)),
                  backends::CorruptBlock);
}
