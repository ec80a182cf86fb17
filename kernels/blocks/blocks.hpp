#pragma once
#include "kernels/device/types.hpp"

/// Operations on whole KV blocks as bytes: for debug modes, and for copies at which the copy
/// engines are slow.
namespace kernels::gpu {

/// Copies block from[i] of `source` to block to[i] of `target`, for i in [0, count). Either arena
/// may be mapped host memory. Target blocks are distinct, and none is also a source.
struct CopyBlocks {
  const void* source = nullptr;
  void* target = nullptr;
  std::int64_t block_bytes = 0;  // a multiple of 16
  int count = 0;
  const std::int32_t* from = nullptr;  // [count]
  const std::int32_t* to = nullptr;    // [count]
};
void copy_blocks(const CopyBlocks& op, cudaStream_t stream);

/// Fills blocks with 0xff bytes, a NaN in every type, so that reads of unwritten slots are
/// detected.
void poison_blocks(void* arena, std::int64_t block_bytes, const std::int32_t* blocks, int count,
                   cudaStream_t stream);

/// sums[i] = checksum of the bytes of block blocks[i], as kernels/reference defines it.
void checksum_blocks(const void* arena, std::int64_t block_bytes, const std::int32_t* blocks,
                     int count, std::uint64_t* sums, cudaStream_t stream);

/// Reads `bytes` (a multiple of 16) of device memory and discards them; `sink` is one unsigned on
/// the device. For measurements.
void read_memory(const void* from, std::size_t bytes, unsigned* sink, cudaStream_t stream);

}  // namespace kernels::gpu
