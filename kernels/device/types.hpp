#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "kernels/kv_layout.hpp"

/// Launchers of the CUDA kernels. For all of them:
/// - pointers are device memory unless stated otherwise; rows are contiguous and row-major;
/// - everything is enqueued on `stream`; nothing synchronizes, allocates or uses another stream;
/// - arrays of 16-bit numbers start at a multiple of 16 bytes, and their widths are multiples of 8;
/// - a launch that the runtime refuses throws CudaError, and an unsupported shape throws
///   std::invalid_argument, in both cases before anything is enqueued;
/// - a launch over no rows enqueues nothing;
/// - results are bitwise equal from run to run, and a row's result does not depend on the others.
namespace kernels::gpu {

/// Type of weights, activations and KV scalars; float32 only if a launcher says so.
enum class Type : std::uint8_t { bf16, f16, f32 };

constexpr std::size_t bytes_of(Type type) { return type == Type::f32 ? 4 : 2; }

/// A CUDA call or launch failed. After most codes the context is lost for the whole process.
class CudaError : public std::runtime_error {
 public:
  CudaError(cudaError_t code, const std::string& what)
      : std::runtime_error(what + ": " + cudaGetErrorName(code) + " (" + cudaGetErrorString(code) +
                           ")"),
        code_(code) {}
  cudaError_t code() const noexcept { return code_; }

 private:
  cudaError_t code_;
};

/// Throws CudaError naming `what` unless `code` is cudaSuccess.
inline void check(cudaError_t code, const char* what) {
  if (code != cudaSuccess) throw CudaError(code, what);
}

/// Heads of one layer. heads is a multiple of kv_heads; the group heads / kv_heads is at most 8;
/// head_dim is 64 or 128.
struct HeadShape {
  int heads = 0;
  int kv_heads = 0;
  int head_dim = 0;
  KERNELS_HOST_DEVICE constexpr int group() const { return heads / kv_heads; }
  /// Width of the fused projection's rows: all query heads, all key heads, all value heads.
  KERNELS_HOST_DEVICE constexpr int qkv_width() const { return (heads + 2 * kv_heads) * head_dim; }
};

/// One layer's keys and values in the arena of paged blocks, and the block tables. block_size: any
/// multiple of 8 up to 1024 (every tile of 8 tokens is in one block).
struct PagedKv {
  void* arena = nullptr;  // [blocks] of `layout`, of the activations' type or of e4m3
  KvLayout layout;
  int layer = 0;
  const std::int32_t* block_tables = nullptr;  // [sequences][table_stride] block ids
  int table_stride = 0;  // entries past a sequence's last block are never read
  bool e4m3 = false;     // numbers of one byte, with scale 1
};

}  // namespace kernels::gpu
