// Products of at most 64 rows with a matrix of few rows. The warpgroups of a CTA take the stages in
// turn, and add their sums at the end.
#pragma once
#include "kernels/small_gemm/rows_ring.cuh"

namespace kernels::gpu::rows {

/// kWRows rows of w with all rows of x.
template <class T_, class Out_, int kXRows_, int kWRows_>
struct Plain {
  using T = T_;
  using Out = Out_;
  static constexpr int kXRows = kXRows_, kWRows = kWRows_;
  static constexpr int kCount = kWRows / 8;  // groups of eight rows of w
  // Threads of a warpgroup whose sums belong to rows of x.
  static constexpr int kRowThreads = kXRows < 16 ? 32 : 2 * kXRows;
  using R = Ring<kWRows, kXRows, kGroups>;
};

/// Enqueues the copy of rows from `row` on, of chunks from `chunk` on.
__device__ inline void copy_chunks(std::uint32_t to, const CUtensorMap& map, int row, int chunk,
                                   std::uint32_t barrier, std::uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".L2::cache_hint [%0], [%1, {%2, %3, %4}], [%5], %6;\n" ::"r"(to),
      "l"(&map), "r"(0), "r"(row), "r"(chunk), "r"(barrier), "l"(policy)
      : "memory");
}

template <class Out>
__device__ void store_two(Out* to, float first, float second) {
  if constexpr (sizeof(Out) == sizeof(float))
    *reinterpret_cast<float2*>(to) = {first, second};
  else
    *reinterpret_cast<std::uint32_t*>(to) = pack<Out>(first, second);
}

/// Waits for the threads of both warpgroups that have rows of x.
template <class S>
__device__ void sync_halves() {
  asm volatile("bar.sync 1, %0;\n" ::"n"(kGroups * S::kRowThreads) : "memory");
}

/// A thread's outputs: two columns of each group of eight, of two tokens. The first warpgroup
/// stores them.
template <class S>
struct PlainOutputs {
  static constexpr bool kWide = sizeof(typename S::Out) == sizeof(float);
  using T = typename S::T;
  const SmallGemm& op;
  const int thread = threadIdx.x % kGroupThreads, lane = threadIdx.x % 32;
  const int token, column;
  // With a norm after the product. Weights are unpacked where they are used: until then nothing
  // waits for the loads.
  float2 residual[2][S::kCount];
  std::uint32_t weight[S::kCount];

  /// `first`: of the CTA's columns.
  __device__ PlainOutputs(const SmallGemm& of, int first)
      : op(of), token(thread / 32 * 16 + lane / 4), column(first + 2 * (lane % 4)) {}

  /// Loads what no kernel of the step writes.
  __device__ void prepare_early() {
    if (!normed()) return;
#pragma unroll
    for (int i = 0; i < S::kCount; ++i)
      if (has(i))
        weight[i] = *reinterpret_cast<const std::uint32_t*>(static_cast<const T*>(op.after.weight) +
                                                            column + 8 * i);
  }
  __device__ void prepare() {
    if (!normed()) return;
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int i = 0; i < S::kCount; ++i)
        if (has_token(half) && has(i))
          residual[half][i] = *reinterpret_cast<const float2*>(residual_at(half, i));
  }

  /// Adds the sums of both warpgroups, and stores the outputs.
  __device__ void store(float (&sums)[S::kCount][4]) {
    __shared__ float4 others[S::kCount][S::kRowThreads];
    if (thread >= S::kRowThreads) return;
    if (threadIdx.x >= kGroupThreads)
#pragma unroll
      for (int i = 0; i < S::kCount; ++i)
        others[i][thread] = {sums[i][0], sums[i][1], sums[i][2], sums[i][3]};
    sync_halves<S>();
    if (threadIdx.x >= kGroupThreads) return;
    const float by[2] = {factor_of(op, token), factor_of(op, token + 8)};
#pragma unroll
    for (int i = 0; i < S::kCount; ++i) {
      const float4 other = others[i][thread];
      sums[i][0] = by[0] * (sums[i][0] + other.x), sums[i][1] = by[0] * (sums[i][1] + other.y);
      sums[i][2] = by[1] * (sums[i][2] + other.z), sums[i][3] = by[1] * (sums[i][3] + other.w);
    }
    if constexpr (!kWide)
      if (op.after.residual) {
        add_to_residual(sums, 0);
        add_to_residual(sums, 1);
        return;
      }
    store_token(sums, 0);
    store_token(sums, 1);
  }

 private:
  __device__ bool normed() const {
    return !kWide && op.after.residual && threadIdx.x < S::kRowThreads;
  }
  __device__ bool has(int i) const { return column + 8 * i < op.n; }
  __device__ bool has_token(int half) const { return token + 8 * half < op.rows; }
  __device__ float* residual_at(int half, int i) const {
    return op.after.residual + std::int64_t{token + 8 * half} * op.n + column + 8 * i;
  }
  __device__ typename S::Out* out(int half, int i) const {
    return static_cast<typename S::Out*>(op.y) + std::int64_t{token + 8 * half} * op.y_stride +
           column + 8 * i;
  }
  __device__ void store_token(const float (&sums)[S::kCount][4], int half) const {
    if (!has_token(half)) return;
#pragma unroll
    for (int i = 0; i < S::kCount; ++i)
      if (has(i)) store_two(out(half, i), sums[i][2 * half], sums[i][2 * half + 1]);
  }

  __device__ void add_to_residual(const float (&sums)[S::kCount][4], int half) {
    float squares = 0;
#pragma unroll
    for (int i = 0; i < S::kCount; ++i) {
      if (!has_token(half) || !has(i)) break;
      float2 x = residual[half][i];
      x.x += to_float(from_float<T>(sums[i][2 * half]));
      x.y += to_float(from_float<T>(sums[i][2 * half + 1]));
      *reinterpret_cast<float2*>(residual_at(half, i)) = x;
      const float2 by = unpack<T>(weight[i]);
      store_two(out(half, i), x.x * by.x, x.y * by.y);
      squares += x.x * x.x + x.y * x.y;
    }
    squares = quad_sum(squares);
    if (lane % 4 == 0 && has_token(half))
      op.after.squares[blockIdx.x * kSmallGemmRowsWgmma + token + 8 * half] = squares;
  }
};

template <class S>
__global__ __launch_bounds__(kThreads, 1) void rows_plain_kernel(
    [[maybe_unused]] const __grid_constant__ Launch l) {
#if KERNELS_WGMMA
  const int first = static_cast<int>(blockIdx.x) * S::kWRows;
  PlainOutputs<S> outputs(l.op, first);
  run<S>(
      l,
      [&](std::uint32_t to, int stage, std::uint32_t barrier, std::uint64_t policy) {
        copy_chunks(to, l.w, first, stage * kGroups, barrier, policy);
      },
      outputs);
#endif
}

}  // namespace kernels::gpu::rows
