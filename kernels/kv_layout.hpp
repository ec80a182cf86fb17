#pragma once
#include <cstdint>

#ifdef __CUDACC__
#define KERNELS_HOST_DEVICE __host__ __device__
#else
#define KERNELS_HOST_DEVICE
#endif

namespace kernels {

/// Position of a KV scalar in an arena of paged blocks, in elements of the KV type.
///
/// Block-first: [block][layer][K, V][kv_head][slot in block][head_dim]. A block is contiguous over
/// all layers, so copying it between device and host is one copy. Keys (or values) of one head in
/// one block are contiguous as well, so attention reads whole tiles.
struct KvLayout {
  int layers = 0;
  int kv_heads = 0;
  int block_size = 0;  // tokens per block
  int head_dim = 0;

  /// Elements of the keys, or the values, of one head in one block.
  KERNELS_HOST_DEVICE constexpr std::int64_t head_elements() const {
    return std::int64_t{block_size} * head_dim;
  }
  /// Elements of the keys, or the values, of one layer in one block.
  KERNELS_HOST_DEVICE constexpr std::int64_t side_elements() const {
    return kv_heads * head_elements();
  }
  KERNELS_HOST_DEVICE constexpr std::int64_t layer_elements() const { return 2 * side_elements(); }
  KERNELS_HOST_DEVICE constexpr std::int64_t block_elements() const {
    return layers * layer_elements();
  }
  KERNELS_HOST_DEVICE constexpr std::int64_t key(std::int64_t block, int layer, int head,
                                                 int slot) const {
    return block * block_elements() + layer * layer_elements() + head * head_elements() +
           std::int64_t{slot} * head_dim;
  }
  KERNELS_HOST_DEVICE constexpr std::int64_t value(std::int64_t block, int layer, int head,
                                                   int slot) const {
    return key(block, layer, head, slot) + side_elements();
  }
};

}  // namespace kernels
