// Split-K products of at most 64 rows with a matrix of few rows. Four CTAs share a tile of rows of
// w, with a quarter of the columns each. Then each sums a quarter of the tile's outputs, in the
// order of the columns. Rows of w are the rows of the tensor-core product, rows of x its columns.
#pragma once
#include "kernels/small_gemm/rows_ring.cuh"

namespace kernels::gpu::rows {

constexpr int kSplits = 4;

/// A tile of 64 kGroups rows of w.
template <class T_, class Out_, int kTokens_, int kGroups>
struct Split {
  using T = T_;
  using Out = Out_;
  static constexpr int kTokens = kTokens_;
  static constexpr int kTileRows = kGroups * kGroupRows;
  using R = Ring<kTileRows, kTokens, kGroups>;
  static constexpr int kCount = kTokens / 8;
  static constexpr int kPlaces = kCount * R::kComputeThreads;  // groups of four sums in a tile
};

/// CTAs exchange sums through the workspace without a flag: a place has been written when its words
/// are not +0. Writers replace +0 by -0, and readers reset places to +0.
__device__ inline float4 marked(const float (&x)[4]) {
  const auto mark = [](float y) { return y == 0.f ? -0.f : y; };
  return {mark(x[0]), mark(x[1]), mark(x[2]), mark(x[3])};
}
__device__ inline bool is_marked(float4 x) {
  return __float_as_uint(x.x) != 0 && __float_as_uint(x.y) != 0 && __float_as_uint(x.z) != 0 &&
         __float_as_uint(x.w) != 0;
}
__device__ inline float4 look(const float4* at) {
  float4 x;
  asm volatile("ld.volatile.global.v4.f32 {%0, %1, %2, %3}, [%4];\n"
               : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w)
               : "l"(at)
               : "memory");
  return x;
}
__device__ inline void send(float4* to, float4 x) {
  asm volatile("st.volatile.global.v4.f32 [%0], {%1, %2, %3, %4};\n" ::"l"(to), "f"(x.x), "f"(x.y),
               "f"(x.z), "f"(x.w)
               : "memory");
}

template <class S>
struct Merge {
  using R = typename S::R;
  using Out = typename S::Out;

  const SmallGemm& op;
  int tile, part;

  /// The sums of CTA `other`, [kCount][threads].
  __device__ float4* sums_of(int other) const {
    return static_cast<float4*>(op.workspace) + (tile * kSplits + other) * S::kPlaces;
  }

  __device__ void give(const float (&sums)[S::kCount][4]) const {
    float4* to = sums_of(part) + threadIdx.x;
#pragma unroll
    for (int i = 0; i < S::kCount; ++i) send(to + i * R::kComputeThreads, marked(sums[i]));
  }

  /// All CTAs of a launch are resident at once, so each may wait for the others.
  __device__ void take() const {
    constexpr int kMine = S::kPlaces / kSplits;
    static_assert(S::kPlaces % kSplits == 0, "quarters of a tile");
    for (int place = part * kMine + threadIdx.x; place < (part + 1) * kMine;
         place += R::kComputeThreads) {
      float4 sums[kSplits];
#pragma unroll
      for (int i = 0; i < kSplits; ++i) sums[i] = look(sums_of(i) + place);
      float4 all = {};
#pragma unroll
      for (int i = 0; i < kSplits; ++i) {
        while (!is_marked(sums[i])) sums[i] = look(sums_of(i) + place);
        send(sums_of(i) + place, {0, 0, 0, 0});
        all = {all.x + sums[i].x, all.y + sums[i].y, all.z + sums[i].z, all.w + sums[i].w};
      }
      store(place, all);
    }
  }

  /// Stores four outputs at the positions of the thread that computed them.
  __device__ void store(int place, float4 sums) const {
    const int thread = place % R::kComputeThreads;
    const int row = tile * S::kTileRows + thread / 32 * 16 + thread % 32 / 4;
    const int token = place / R::kComputeThreads * 8 + 2 * (thread % 4);
    const auto put = [&](int to_row, int to_token, float sum) {
      if (to_row >= op.n || to_token >= op.rows) return;
      static_cast<Out*>(op.y)[std::int64_t{to_token} * op.y_stride + to_row] = from_float<Out>(sum);
    };
    put(row, token, sums.x);
    put(row, token + 1, sums.y);
    put(row + 8, token, sums.z);
    put(row + 8, token + 1, sums.w);
  }
};

/// Enqueues the copy of a box that begins at (x, y).
__device__ inline void copy_rows(std::uint32_t to, const CUtensorMap& map, int x, int y,
                                 std::uint32_t barrier, std::uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".L2::cache_hint [%0], [%1, {%2, %3}], [%4], %5;\n" ::"r"(to),
      "l"(&map), "r"(x), "r"(y), "r"(barrier), "l"(policy)
      : "memory");
}

template <class S>
__global__ __launch_bounds__(S::R::kThreads, 1) void rows_split_kernel(
    [[maybe_unused]] const __grid_constant__ Launch l) {
#if KERNELS_WGMMA
  using R = typename S::R;
  extern __shared__ __align__(1024) unsigned char memory[];
  const R ring{shared_address(memory)};
  const int tile = static_cast<int>(blockIdx.x) / kSplits, part = blockIdx.x % kSplits;
  const Chunks chunks = {l.chunks * part / kSplits, l.chunks * (part + 1) / kSplits};
  const auto load_all = [&] {
    const std::uint64_t policy = read_once();
    load(l, ring, chunks, [&](std::uint32_t to, int chunk, std::uint32_t barrier) {
      copy_rows(to, l.w, chunk * kChunk, tile * S::kTileRows, barrier, policy);
    });
  };
  run(ring, load_all, [&] {
    float sums[S::kCount][4] = {};
    const int first_row = threadIdx.x / kGroupThreads * kGroupRows;
    multiply<typename S::T>(
        sums, ring, chunks, [&](int stage) { return ring.w(stage) + first_row * kChunkBytes; },
        [&](int stage) { return ring.x(stage); });
    const Merge<S> merge{l.op, tile, part};
    merge.give(sums);
    merge.take();
  });
#endif
}

}  // namespace kernels::gpu::rows
