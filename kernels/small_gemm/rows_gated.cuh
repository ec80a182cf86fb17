// Gate and up products of at most 64 rows, fused with SwiGLU. A warpgroup has half of the CTA's
// rows of w: eight gate rows, their eight up rows, and so on, so that one thread has both the gate
// and the up value of an output.
#pragma once
#include "kernels/small_gemm/rows_ring.cuh"

namespace kernels::gpu::rows {

/// kCount groups of eight rows of w per warpgroup.
template <class T_, int kXRows_, int kCount_>
struct Gated {
  using T = T_;
  static constexpr int kXRows = kXRows_, kCount = kCount_;
  static constexpr int kGroupOutputs = kCount / 2 * 8;  // per row of x
  static constexpr int kOutputs = kGroups * kGroupOutputs;
  // With more than 16 rows of x, fewer stages are faster than those that fit (docs/performance.md).
  static constexpr int kMostBytes = kXRows > 16 ? 150 * 1024 : kQueueBytes;
  // Two stages are refilled together, so that DRAM reads 256 adjacent bytes of a row.
  using R = Ring<2 * kOutputs, kXRows, 1, 2, kMostBytes>;
  static constexpr int kBytes = R::kBytes;
  static_assert(R::kHasLeftX);
};

/// Rows of x are the rows of the tensor-core product (64, of which those beyond x's are ignored),
/// rows of w its columns.
template <class S>
struct GatedOutputs {
  using T = typename S::T;
  const SmallGemm& op;
  float sums[S::kCount][4] = {};

  __device__ void prepare_early() {}
  __device__ void prepare() {}
  /// The warpgroup's half of the rows of w.
  __device__ void multiply(typename S::R ring, int stages) {
    const int half = threadIdx.x / kGroupThreads * (S::R::kWBytes / kGroups);
    each_stage(ring, stages, sums, [&](int buffer, int stage) {
      const std::uint64_t x = matrix_at(ring.x(buffer, 0), 0, kEightRows),
                          w = matrix_at(ring.w(buffer, 0) + half, 0, kEightRows);
#pragma unroll
      for (int k = 0; k < kChunk / 16; ++k)
        multiply_rows<T>(sums, further(x, 32 * k), further(w, 32 * k), stage + k);
    });
  }
  __device__ void store() const {
    const int group = threadIdx.x / kGroupThreads, lane = threadIdx.x % 32;
    const int first = blockIdx.x * S::kOutputs + group * S::kGroupOutputs + 2 * (lane % 4);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int token = threadIdx.x / 32 % 4 * 16 + lane / 4 + 8 * half;
      if (token >= op.rows) continue;
      const float by = norm_factor(op.before, token);
      T* out = static_cast<T*>(op.y) + std::int64_t{token} * op.y_stride;
#pragma unroll
      for (int i = 0; i < S::kCount; i += 2) {
        const float(&gate)[4] = sums[i], (&up)[4] = sums[i + 1];
        const int at = first + 4 * i, e = 2 * half;
        if (at >= op.n) continue;
        *reinterpret_cast<std::uint32_t*>(out + at) =
            pack<T>(silu(by * gate[e]) * (by * up[e]), silu(by * gate[e + 1]) * (by * up[e + 1]));
      }
    }
  }
};

template <class S>
__global__ __launch_bounds__(kThreads, 1) void rows_gated_kernel(
    [[maybe_unused]] const __grid_constant__ Launch l) {
#if KERNELS_WGMMA
  const int eight = blockIdx.x * (S::kOutputs / 8);
  GatedOutputs<S> outputs{l.op};
  run<S>(
      l, 0,
      [&](std::uint32_t to, int stage, std::uint32_t barrier, std::uint64_t policy) {
        copy_gate_and_up(to, l.w, stage * kChunk, eight, barrier, policy);
      },
      outputs);
#endif
}

}  // namespace kernels::gpu::rows
