#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "kernels/kv_layout.hpp"
#include "workers/model/config.hpp"

namespace backends {

/// Shape of the KV blocks of a model.
inline kernels::KvLayout kv_layout(const model::ModelShape& shape, int block_size) {
  return {shape.layers, shape.kv_heads, block_size, shape.head_dim};
}

/// Host memory for adjacent KV blocks: the pool that a CPU computes with, or the slots of a host
/// tier. Memory is committed when it is first touched.
class KvArena {
 public:
  /// Throws std::bad_alloc.
  KvArena(const kernels::KvLayout& layout, model::DType type, int num_blocks)
      : layout_(layout),
        type_(type),
        num_blocks_(num_blocks),
        bytes_(std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes()))) {}

  const kernels::KvLayout& layout() const { return layout_; }
  model::DType type() const { return type_; }
  int num_blocks() const { return num_blocks_; }
  std::int64_t block_bytes() const { return layout_.block_elements() * model::size_of(type_); }
  std::int64_t bytes() const { return block_bytes() * num_blocks_; }

  std::span<std::byte> block(std::uint32_t index) {
    const auto size = static_cast<std::size_t>(block_bytes());
    return {bytes_.get() + index * size, size};
  }
  /// All elements; Kv must match type().
  template <class Kv>
  Kv* elements() {
    return reinterpret_cast<Kv*>(bytes_.get());
  }

 private:
  kernels::KvLayout layout_;
  model::DType type_;
  int num_blocks_;
  std::unique_ptr<std::byte[]> bytes_;
};

}  // namespace backends
