#pragma once
#include "kernels/device/types.hpp"

/// Whole KV blocks as bytes: for debug modes, and for copies where the copy engines do badly.
namespace kernels::gpu {

/// Copies block from[i] of `source` to block to[i] of `target`, for i in [0, count). Either arena
/// may be mapped host memory. Blocks copied to are distinct and none is copied from.
struct CopyBlocks {
  const void* source = nullptr;
  void* target = nullptr;
  std::int64_t block_bytes = 0;  // a multiple of 16
  int count = 0;
  const std::int32_t* from = nullptr;  // [count]
  const std::int32_t* to = nullptr;    // [count]
};
void copy_blocks(const CopyBlocks& op, cudaStream_t stream);

/// Fills blocks with 0xff bytes, a NaN in every type, so that reading an unwritten slot shows.
void poison_blocks(void* arena, std::int64_t block_bytes, const std::int32_t* blocks, int count,
                   cudaStream_t stream);

/// sums[i] = checksum of the bytes of block blocks[i], as kernels/reference defines it.
void checksum_blocks(const void* arena, std::int64_t block_bytes, const std::int32_t* blocks,
                     int count, std::uint64_t* sums, cudaStream_t stream);

/// Reads `bytes` (a multiple of 16) of device memory and keeps nothing; `sink` is one unsigned on
/// the device. For measuring.
void read_memory(const void* from, std::size_t bytes, unsigned* sink, cudaStream_t stream);

}  // namespace kernels::gpu
