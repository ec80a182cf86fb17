#pragma once
#include "kernels/attention/attention.hpp"
#include "kernels/log/device_log.cuh"

namespace kernels::gpu::append {

template <class>
struct KernelLog {
  template <class... Anything>
  __device__ explicit KernelLog(const Anything&...) {}
};
template <class>
struct AppendLog {
  template <class... Anything>
  __device__ explicit AppendLog(const Anything&...) {}
  __device__ void begin_turn(int, int) const {}
  __device__ void issue() const {}
  __device__ void wrote(int, int) const {}
  __device__ void close() const {}
};

}  // namespace kernels::gpu::append
