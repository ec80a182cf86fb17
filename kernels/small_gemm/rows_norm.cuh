// An RMSNorm divided between two products: see NormAfter and NormBefore in layers.hpp.
#pragma once
#include "kernels/device/number.cuh"
#include "kernels/layers/layers.hpp"

namespace kernels::gpu::rows {

constexpr int kGroups = 2;
constexpr int kGroupThreads = 128;
constexpr int kComputeThreads = kGroups * kGroupThreads;

/// 1 / root mean square of each row of x.
__device__ inline float* factors() {
  __shared__ float of_rows[kSmallGemmRowsWgmma];
  return of_rows;
}
/// The threads that compute wait for the warp that calls compute_factors().
__device__ inline void await_factors() {
  asm volatile("bar.sync 3, %0;\n" ::"n"(kComputeThreads + 32) : "memory");
}

/// One warp adds the `parts` sums of squares of each row, in order.
__device__ inline void compute_factors(const SmallGemm& op, int parts) {
  for (int row = threadIdx.x % 32; row < op.rows; row += 32) {
    float sum = 0;
#pragma unroll 32
    for (int part = 0; part < parts; ++part)
      sum += op.before.squares[part * kSmallGemmRowsWgmma + row];
    factors()[row] = rsqrtf(sum / op.k + op.before.epsilon);
  }
  asm volatile("bar.arrive 3, %0;\n" ::"n"(kComputeThreads + 32) : "memory");
}

/// What one token's sums are multiplied by.
__device__ inline float factor_of(const SmallGemm& op, int token) {
  return op.before.squares && token < op.rows ? factors()[token] : 1.f;
}

}  // namespace kernels::gpu::rows
