#pragma once
#include <cstdint>

#include "kernels/kv_layout.hpp"
#include "kernels/number.hpp"
#include "kernels/reference/access_trace.hpp"

namespace kernels::reference {

/// The tokens of a step and their sequences' blocks.
struct PagedTokens {
  int num_tokens = 0;
  const std::int32_t* positions = nullptr;     // [num_tokens] in their sequence
  const std::int32_t* sequence = nullptr;      // [num_tokens] row of block_tables
  const std::int32_t* block_tables = nullptr;  // [sequences][table_stride]
  int table_stride = 0;
};

/// Writes keys and values of the step's tokens to their slots, converted to the arena's type.
///   arena         blocks in `layout`; Kv is float, Bf16, F16 or E4m3
///   keys, values  [num_tokens][stride]; the first kv_heads * head_dim of each row are used
/// With a Traced, logs the write of each head's key and value.
template <class Kv, class Log = NoTrace>
void append_kv(Kv* arena, const KvLayout& layout, int layer, const float* keys, const float* values,
               int stride, const PagedTokens& tokens, const Log& log = {});

/// Copies one block of `bytes` bytes; the blocks must not overlap.
void copy_block(void* to, const void* from, std::int64_t bytes);

/// Fills a block with NaN in every KV type, so that reads of it are detected.
void poison_block(void* block, std::int64_t bytes);

/// Sum modulo 2^64 over the block's 32-bit words of SplitMix64's finalizer (Steele, Lea, Flood
/// 2014) of (index << 32 | word). Depends on every bit and its position, and can be summed in any
/// order.
///   block  `bytes` bytes, a multiple of 4
std::uint64_t checksum_block(const void* block, std::int64_t bytes);

}  // namespace kernels::reference
