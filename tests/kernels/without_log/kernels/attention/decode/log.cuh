#pragma once
#include "kernels/attention/decode/heads.cuh"
#include "kernels/log/device_log.cuh"

namespace kernels::gpu::decode {

template <class>
struct KernelLog {
  template <class... Anything>
  __device__ explicit KernelLog(const Anything&...) {}
};
template <class, int>
struct TileLog {
  template <class... Anything>
  __device__ explicit TileLog(const Anything&...) {}
  __device__ void begin(const Work&, int) const {}
  __device__ void looked_up(const Work&, const EightTokens&, int) const {}
  __device__ void end() const {}
  __device__ void write_header() const {}
};

}  // namespace kernels::gpu::decode
