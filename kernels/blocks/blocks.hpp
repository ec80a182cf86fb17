#pragma once
#include "kernels/device/types.hpp"

/// Operations on whole KV blocks as bytes, for debug modes. Pointers are to device memory: `arena`
/// has blocks of `block_bytes` bytes, `blocks` is [count] block ids. Enqueue on `stream`.
namespace kernels::gpu {

/// Fills blocks with 0xff bytes, a NaN in every type, so that reads of unwritten slots are
/// detected.
void poison_blocks(void* arena, std::int64_t block_bytes, const std::int32_t* blocks, int count,
                   cudaStream_t stream);

/// sums[i] = checksum of the bytes of block blocks[i], as kernels/reference defines it; [count].
void checksum_blocks(const void* arena, std::int64_t block_bytes, const std::int32_t* blocks,
                     int count, std::uint64_t* sums, cudaStream_t stream);

}  // namespace kernels::gpu
