#include "workers/backends/cpu/kv_arena.hpp"

namespace backends {

kernels::KvLayout kv_layout(const model::ModelShape& shape, int block_size) {
  kernels::KvLayout layout;
  layout.layers = shape.layers;
  layout.kv_heads = shape.kv_heads;
  layout.block_size = block_size;
  layout.head_dim = shape.head_dim;
  return layout;
}

KvArena::KvArena(const kernels::KvLayout& layout, model::DType type, int num_blocks)
    : layout_(layout),
      type_(type),
      num_blocks_(num_blocks),
      bytes_(std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes()))) {}

std::span<std::byte> KvArena::block(std::uint32_t index) {
  const auto size = static_cast<std::size_t>(block_bytes());
  return {bytes_.get() + index * size, size};
}

}  // namespace backends
