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

/// Adds the sums of both warpgroups, and stores those of the rows of w from `first` on.
template <class S>
__device__ void store_plain(const SmallGemm& op, const float (&sums)[S::kCount][4], int first) {
  __shared__ float4 others[S::kCount][S::kRowThreads];
  const int thread = threadIdx.x % kGroupThreads, lane = threadIdx.x % 32;
  if (thread >= S::kRowThreads) return;
  if (threadIdx.x >= kGroupThreads)
#pragma unroll
    for (int i = 0; i < S::kCount; ++i)
      others[i][thread] = {sums[i][0], sums[i][1], sums[i][2], sums[i][3]};
  sync_halves<S>();
  if (threadIdx.x >= kGroupThreads) return;
  const int token = thread / 32 * 16 + lane / 4, row = first + 2 * (lane % 4);
  auto* out = static_cast<typename S::Out*>(op.y) + std::int64_t{token} * op.y_stride + row;
#pragma unroll
  for (int i = 0; i < S::kCount; ++i) {
    if (row + 8 * i >= op.n) return;
    const float4 other = others[i][thread];
    if (token < op.rows) store_two(out + 8 * i, sums[i][0] + other.x, sums[i][1] + other.y);
    if (token + 8 < op.rows)
      store_two(out + 8 * i + 8 * op.y_stride, sums[i][2] + other.z, sums[i][3] + other.w);
  }
}

template <class S>
__global__ __launch_bounds__(kThreads, 1) void rows_plain_kernel(
    [[maybe_unused]] const __grid_constant__ Launch l) {
#if KERNELS_WGMMA
  const int first = static_cast<int>(blockIdx.x) * S::kWRows;
  run<S>(
      l,
      [&](std::uint32_t to, int stage, std::uint32_t barrier, std::uint64_t policy) {
        copy_chunks(to, l.w, first, stage * kGroups, barrier, policy);
      },
      [&](const auto& sums) { store_plain<S>(l.op, sums, first); });
#endif
}

}  // namespace kernels::gpu::rows
