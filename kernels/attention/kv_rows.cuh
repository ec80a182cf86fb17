#pragma once
#include "kernels/device/types.hpp"

namespace kernels::gpu {

/// Division by a divisor that is only known at run time, without a division instruction. Exact
/// while value * divisor < 2^32, which holds for block sizes up to 1024 and positions up to 4 M.
struct Divisor {
  std::uint32_t divisor = 1;
  std::uint32_t reciprocal = 0;  // ceil(2^32 / divisor); divisors below 2 are not used
  Divisor() = default;
  explicit Divisor(int d)
      : divisor(static_cast<std::uint32_t>(d)),
        reciprocal(divisor < 2 ? 0
                               : static_cast<std::uint32_t>(
                                     ((std::uint64_t{1} << 32) + divisor - 1) / divisor)) {}
#ifdef __CUDACC__
  __device__ int divide(int value) const {
    return static_cast<int>(__umulhi(static_cast<std::uint32_t>(value), reciprocal));
  }
#endif
};

/// Eight consecutive tokens from a multiple of 8 on: they are adjacent in one block.
struct EightTokens {
  std::int64_t element = 0;  // of the first, from the same head's key in slot 0 of block 0
  std::int32_t block = 0;
  std::int32_t slot = 0;  // of the first
};

/// Finds tokens of a sequence in an arena: the part of PagedKv that kernels need, prepared on the
/// host.
struct KvPlaces {
  Divisor block_size;
  std::int32_t head_dim = 0;
  std::int64_t block_elements = 0;
  std::int64_t layer_elements = 0;  // from a block's start to the keys of the layer
  std::int64_t head_elements = 0;
  std::int64_t value_distance = 0;  // from a key to its value

  KvPlaces() = default;
  explicit KvPlaces(const PagedKv& kv)
      : block_size(kv.layout.block_size),
        head_dim(kv.layout.head_dim),
        block_elements(kv.layout.block_elements()),
        layer_elements(kv.layer * kv.layout.layer_elements()),
        head_elements(kv.layout.head_elements()),
        value_distance(kv.layout.side_elements()) {}
#ifdef __CUDACC__
  __device__ std::int64_t head_start(int kv_head) const {
    return layer_elements + kv_head * head_elements;
  }
  __device__ EightTokens find(const std::int32_t* table, int first) const {
    EightTokens found;
    const int place = block_size.divide(first);
    found.block = __ldg(table + place);
    found.slot = first - place * static_cast<int>(block_size.divisor);
    found.element = found.block * block_elements + found.slot * head_dim;
    return found;
  }
#endif
};

}  // namespace kernels::gpu
