// Whole blocks as bytes, 16 at a time: poison and checksums.
#include "kernels/blocks/blocks.hpp"

#include "kernels/device/launch.cuh"
#include "kernels/mixed_bits.hpp"

namespace kernels::gpu {
namespace {

constexpr int kThreads = 512;

__global__ void poison_blocks_kernel(void* arena, std::int64_t block_bytes,
                                     const std::int32_t* blocks) {
  const std::int64_t pieces = block_bytes / 16;
  uint4* to = static_cast<uint4*>(arena) + blocks[blockIdx.x] * pieces;
  for (std::int64_t piece = threadIdx.x; piece < pieces; piece += kThreads)
    to[piece] = {~0u, ~0u, ~0u, ~0u};
}

__global__ void checksum_blocks_kernel(const void* arena, std::int64_t block_bytes,
                                       const std::int32_t* blocks, std::uint64_t* sums) {
  __shared__ unsigned long long sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  const std::int64_t words = block_bytes / 4;
  const std::uint32_t* block =
      static_cast<const std::uint32_t*>(arena) + blocks[blockIdx.x] * words;
  unsigned long long mine = 0;
  for (std::int64_t i = threadIdx.x; i < words; i += kThreads)
    mine += mixed_bits(static_cast<std::uint64_t>(i) << 32 | block[i]);
  atomicAdd(&sum, mine);  // an integer sum: the order of arrival does not matter
  __syncthreads();
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

}  // namespace

void poison_blocks(void* arena, std::int64_t block_bytes, const std::int32_t* blocks, int count,
                   cudaStream_t stream) {
  require(block_bytes % 16 == 0, "poison_blocks: bytes of a block are not a multiple of 16",
          block_bytes);
  if (count == 0) return;
  launch("poison_blocks", poison_blocks_kernel, {static_cast<unsigned>(count), kThreads}, stream,
         arena, block_bytes, blocks);
}

void checksum_blocks(const void* arena, std::int64_t block_bytes, const std::int32_t* blocks,
                     int count, std::uint64_t* sums, cudaStream_t stream) {
  require(block_bytes % 16 == 0, "checksum_blocks: bytes of a block are not a multiple of 16",
          block_bytes);
  if (count == 0) return;
  launch("checksum_blocks", checksum_blocks_kernel, {static_cast<unsigned>(count), kThreads},
         stream, arena, block_bytes, blocks, sums);
}

}  // namespace kernels::gpu
