// An RMSNorm fused into the products before and after it: see NormAfter and NormBefore in
// layers.hpp. This part is of the product after.
#pragma once
#include "kernels/device/number.cuh"
#include "kernels/layers/layers.hpp"

namespace kernels::gpu::rows {

/// [64] in shared memory: 1 / sqrt(mean square + epsilon) of each row of the residual.
__device__ inline float* factors() {
  __shared__ float of_rows[kSmallGemmRowsWgmma];
  return of_rows;
}
/// `kThreads` threads wait for the warp that calls compute_factors().
template <int kThreads>
__device__ void await_factors() {
  asm volatile("bar.sync 3, %0;\n" ::"n"(kThreads + 32) : "memory");
}

/// One warp adds the sums of squares of `parts` CTAs in order, and writes factors().
template <int kThreads>
__device__ void compute_factors(const SmallGemm& op, int parts) {
  for (int row = threadIdx.x % 32; row < op.rows; row += 32) {
    float sum = 0;
#pragma unroll 32
    for (int part = 0; part < parts; ++part)
      sum += op.before.squares[part * kSmallGemmRowsWgmma + row];
    factors()[row] = rsqrtf(sum / op.k + op.before.epsilon);
  }
  __syncwarp();  // the next instruction needs the whole warp
  asm volatile("bar.arrive 3, %0;\n" ::"n"(kThreads + 32) : "memory");
}

/// What one token's sums are multiplied by.
__device__ inline float factor_of(const SmallGemm& op, int token) {
  return op.before.squares && token < op.rows ? factors()[token] : 1.f;
}

}  // namespace kernels::gpu::rows
