#include "kernels/blocks/blocks.hpp"

#include "kernels/reference/kv_blocks.hpp"
#include "tests/gpu/kernels/device.hpp"

using namespace gpu_test;
namespace gpu = kernels::gpu;
namespace reference = kernels::reference;

namespace {

/// Sizes of blocks: the smallest, odd numbers of 16-byte pieces, and one of a real model.
constexpr std::int64_t kSizes[] = {16, 48, 16 * 511, 16 * 2049, 2 << 20};

Halves random_blocks(std::int64_t bytes, int count) {
  return Numbers(29).halves(Type::f16, bytes * count / 2);
}

}  // namespace

TEST_CASE("poisoned blocks are what the reference leaves, their neighbors stay", "[gpu]") {
  NEEDS_DEVICE;
  for (const std::int64_t bytes : kSizes) {
    Halves blocks = random_blocks(bytes, 3);
    const Device<std::uint16_t> arena(blocks);
    const Device<std::int32_t> ids(Ints{1});
    gpu::poison_blocks(arena.get(), bytes, ids.get(), 1, nullptr);
    reference::poison_block(blocks.data() + bytes / 2, bytes);
    CHECK(arena.host() == blocks);
  }
}

TEST_CASE("checksums are those of the reference", "[gpu]") {
  NEEDS_DEVICE;
  for (const std::int64_t bytes : kSizes) {
    const Halves blocks = random_blocks(bytes, 4);
    const Ints order = {3, 0, 2};
    const Device<std::uint16_t> arena(blocks);
    const Device<std::int32_t> ids(order);
    const Device<std::uint64_t> sums(order.size());
    gpu::checksum_blocks(arena.get(), bytes, ids.get(), 3, sums.get(), nullptr);
    std::vector<std::uint64_t> expected;
    for (const std::int32_t id : order)
      expected.push_back(reference::checksum_block(blocks.data() + id * bytes / 2, bytes));
    CHECK(sums.host() == expected);
  }
}
