// Generates weights on the device: each element is a pure function of its position.
#include "kernels/device/launch.cuh"
#include "kernels/device/number.cuh"
#include "kernels/layers/layers.hpp"
#include "kernels/random_weight.hpp"

namespace kernels::gpu {
namespace {

constexpr int kThreads = 256;

template <class T>
__global__ void fill_random_kernel(FillRandom op) {
  const std::int64_t stride = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < op.elements;
       i += stride) {
    const float x =
        random_weight(op.seed, op.parameter, static_cast<std::uint64_t>(i), op.amplitude);
    static_cast<T*>(op.out)[i] = from_float<T>(x);
  }
}

template <class T>
__global__ void fill_constant_kernel(T* out, std::int64_t elements, float value) {
  const std::int64_t stride = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < elements;
       i += stride)
    out[i] = from_float<T>(value);
}

Grid grid_of(std::int64_t elements) {
  const std::int64_t blocks = (elements + kThreads - 1) / kThreads;
  return {static_cast<unsigned>(blocks < 16384 ? blocks : 16384), kThreads};
}

}  // namespace

void fill_random(const FillRandom& op, cudaStream_t stream) {
  if (op.elements == 0) return;
  with_any_type(op.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    launch("fill_random", fill_random_kernel<T>, grid_of(op.elements), stream, op);
  });
}

void fill_constant(Type type, void* out, std::int64_t elements, float value, cudaStream_t stream) {
  if (elements == 0) return;
  with_any_type(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    launch("fill_constant", fill_constant_kernel<T>, grid_of(elements), stream,
           static_cast<T*>(out), elements, value);
  });
}

}  // namespace kernels::gpu
