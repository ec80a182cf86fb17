// The MLP's activations: gated SiLU (arXiv 2002.05202) and ReLU. Eight elements per thread.
#include "kernels/device/launch.cuh"
#include "kernels/device/number.cuh"
#include "kernels/device/overlap.cuh"
#include "kernels/layers/layers.hpp"

namespace kernels::gpu {
namespace {

constexpr int kThreads = 256;

template <class T>
__global__ void swiglu_kernel(SwiGlu op) {
  launch_dependents_and_wait();
  const std::int64_t token = blockIdx.x;
  const int i = 8 * static_cast<int>(blockIdx.y * kThreads + threadIdx.x);
  if (i >= op.width) return;
  const T* gate_row = static_cast<const T*>(op.gate_up) + token * 2 * op.width;
  const Eight gate = load8(gate_row + i);
  Eight x = load8(gate_row + op.width + i);
#pragma unroll
  for (int e = 0; e < 8; ++e) x.x[e] *= silu(gate.x[e]);
  store8(static_cast<T*>(op.out) + token * op.width + i, x);
}

template <class T>
__global__ void bias_relu_kernel(BiasRelu op) {
  launch_dependents_and_wait();
  const std::int64_t token = blockIdx.x;
  const int i = 8 * static_cast<int>(blockIdx.y * kThreads + threadIdx.x);
  if (i >= op.width) return;
  T* at = static_cast<T*>(op.x) + token * op.width + i;
  Eight x = load8(at);
  if (op.bias) add_to(x, load8(static_cast<const T*>(op.bias) + i));
    // Not fmaxf(), which would turn a NaN into 0 and hide it.
#pragma unroll
  for (int e = 0; e < 8; ++e) x.x[e] = x.x[e] < 0.f ? 0.f : x.x[e];
  store8(at, x);
}

Grid grid_of(int tokens, int width) {
  const int pieces = divide_up(width, 8 * kThreads);
  return {dim3(static_cast<unsigned>(tokens), static_cast<unsigned>(pieces)), kThreads};
}

}  // namespace

void swiglu(const SwiGlu& op, cudaStream_t stream) {
  require(op.width % 8 == 0, "swiglu: width is not a multiple of 8", op.width);
  if (op.tokens == 0) return;
  with_16_bit(op.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    launch_overlapping("swiglu", swiglu_kernel<T>, grid_of(op.tokens, op.width), stream, op);
  });
}

void bias_relu(const BiasRelu& op, cudaStream_t stream) {
  require(op.width % 8 == 0, "bias_relu: width is not a multiple of 8", op.width);
  if (op.tokens == 0) return;
  with_16_bit(op.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    launch_overlapping("bias_relu", bias_relu_kernel<T>, grid_of(op.tokens, op.width), stream, op);
  });
}

}  // namespace kernels::gpu
