// Reads device memory and discards it: the reference rate for memory-bound kernels. Every thread
// has eight reads of 16 bytes in flight.
#include "tests/bench/read_memory.hpp"

#include "kernels/device/launch.cuh"

namespace kernels::gpu {
namespace {

constexpr int kThreads = 512;
constexpr int kReads = 8;

__global__ void read_memory_kernel(const uint4* from, std::size_t pieces, unsigned* sink) {
  const std::size_t stride = std::size_t{gridDim.x} * kThreads;
  unsigned sum = 0;
  for (std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x; i < pieces;
       i += kReads * stride) {
    uint4 x[kReads];
#pragma unroll
    for (int read = 0; read < kReads; ++read)
      x[read] = i + read * stride < pieces ? __ldcs(from + i + read * stride) : uint4{};
#pragma unroll
    for (int read = 0; read < kReads; ++read) sum |= x[read].x & x[read].y & x[read].z & x[read].w;
  }
  if (sum == 0x5a5a5a5au) *sink = sum;  // never true, but the compiler cannot know
}

}  // namespace

void read_memory(const void* from, std::size_t bytes, unsigned* sink, cudaStream_t stream) {
  constexpr unsigned kBlocks = 132 * 4;
  launch("read_memory", read_memory_kernel, {kBlocks, kThreads}, stream,
         static_cast<const uint4*>(from), bytes / sizeof(uint4), sink);
}

}  // namespace kernels::gpu
