// An RMSNorm fused into the products before and after it: see NormAfter and NormBefore in
// layers.hpp. This part is of the product after.
#pragma once
#include "kernels/device/number.cuh"
#include "kernels/layers/layers.hpp"

namespace kernels::gpu {

/// [kFusedNormRows] in shared memory: 1 / sqrt(mean square + epsilon) of each row of the residual.
__device__ inline float* norm_factors() {
  __shared__ float of_rows[kFusedNormRows];
  return of_rows;
}

/// `kThreads` threads wait for the `kWarps` warps that call compute_norm_factors().
template <int kThreads, int kWarps>
__device__ void await_norm_factors() {
  asm volatile("bar.sync 3, %0;\n" ::"n"(kThreads + 32 * kWarps) : "memory");
}

/// `kWarps` warps, of which this is number `warp`, add norm.squares, [parts][kFusedNormRows] in
/// device memory, in order and `kAtOnce` parts at a time, and write norm_factors() of rows of
/// `columns` numbers.
template <int kThreads, int kWarps, int kAtOnce>
__device__ void compute_norm_factors(const NormBefore& norm, int warp, int rows, int columns,
                                     int parts) {
  for (int row = 32 * warp + threadIdx.x % 32; row < rows; row += 32 * kWarps) {
    float sum = 0;
#pragma unroll kAtOnce
    for (int part = 0; part < parts; ++part) sum += norm.squares[part * kFusedNormRows + row];
    norm_factors()[row] = rsqrtf(sum / columns + norm.epsilon);
  }
  __syncwarp();  // the next instruction needs the whole warp
  asm volatile("bar.arrive 3, %0;\n" ::"n"(kThreads + 32 * kWarps) : "memory");
}

/// The factor for one row's sums.
__device__ inline float norm_factor(const NormBefore& norm, int row) {
  return norm.squares ? norm_factors()[row] : 1.f;
}

}  // namespace kernels::gpu
