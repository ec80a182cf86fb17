#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "kernels/device/capability.hpp"
#include "kernels/device/types.hpp"

namespace kernels::gpu {

constexpr int divide_up(int a, int b) { return (a + b - 1) / b; }
constexpr int round_up(int a, int b) { return divide_up(a, b) * b; }

/// A type as a value, so that a generic lambda can be called for a type chosen at run time.
template <class T>
struct Tag {
  using type = T;
};

template <class Call>
void with_16_bit(Type type, const Call& call) {
  switch (type) {
    case Type::bf16:
      return call(Tag<__nv_bfloat16>{});
    case Type::f16:
      return call(Tag<__half>{});
    case Type::f32:
      break;
  }
  throw std::invalid_argument("a kernel for 16-bit numbers was given float32");
}

/// Calls `call` for the type of activations and for that of KV.
template <class Call>
void with_kv(Type type, bool e4m3, const Call& call) {
  with_16_bit(type, [&](auto tag) {
    if (e4m3) return call(tag, Tag<__nv_fp8_e4m3>{});
    call(tag, tag);
  });
}

template <class Call>
void with_any_type(Type type, const Call& call) {
  if (type == Type::f32) return call(Tag<float>{});
  with_16_bit(type, call);
}

inline void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}
/// Requires it of one value, which the message names as `found`.
inline void require(bool holds, const char* what, std::int64_t found) {
  if (!holds) throw std::invalid_argument(what + (": found " + std::to_string(found)));
}

struct Grid {
  dim3 blocks;
  dim3 threads;
  std::size_t shared_bytes = 0;
};

/// How a launch is ordered after the previous kernel on its stream.
enum class Order : std::uint8_t {
  after,     // starts when the previous kernel has ended
  overlaps,  // may start while the previous kernel ends, and calls wait_for_predecessor()
};

/// Number of CTAs of a kernel that are resident at once on the current device, with this many
/// threads and this much shared memory, which it enables. All devices of a process are assumed to
/// be alike.
template <class Kernel>
int resident_ctas(const char* name, Kernel kernel, int threads, int shared_bytes) {
  int each = 0;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes),
        name);
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, threads,
                                                      static_cast<std::size_t>(shared_bytes)),
        name);
  return multiprocessors() * each;
}

/// Enqueues a kernel and throws CudaError naming it when the runtime refuses it.
template <class... Parameters, class... Arguments>
void enqueue(Order order, const char* name, void (*kernel)(Parameters...), const Grid& grid,
             cudaStream_t stream, const Arguments&... arguments) {
  if (grid.shared_bytes > 48 * 1024)  // more must be enabled per kernel and device
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(grid.shared_bytes)),
          name);
  // Kernels that share a multiprocessor must not wait for a new partition of its cache.
  if (order == Order::overlaps)
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                               cudaSharedmemCarveoutMaxShared),
          name);
  cudaLaunchConfig_t config = {};
  config.gridDim = grid.blocks;
  config.blockDim = grid.threads;
  config.dynamicSmemBytes = grid.shared_bytes;
  config.stream = stream;
  cudaLaunchAttribute overlap = {};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  if (order == Order::overlaps && has_dependent_launch()) {
    config.attrs = &overlap;
    config.numAttrs = 1;
  }
  check(cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...), name);
}

template <class... Parameters, class... Arguments>
void launch(const char* name, void (*kernel)(Parameters...), const Grid& grid, cudaStream_t stream,
            const Arguments&... arguments) {
  enqueue(Order::after, name, kernel, grid, stream, arguments...);
}

/// Launches a kernel with programmatic dependent launch (PDL). Its threads must call
/// wait_for_predecessor() before they access anything that a kernel wrote, but for what overlap.cuh
/// says, and at least one of each CTA before it exits.
template <class... Parameters, class... Arguments>
void launch_overlapping(const char* name, void (*kernel)(Parameters...), const Grid& grid,
                        cudaStream_t stream, const Arguments&... arguments) {
  enqueue(Order::overlaps, name, kernel, grid, stream, arguments...);
}

}  // namespace kernels::gpu
