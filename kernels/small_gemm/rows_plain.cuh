// Products of at most 64 rows with a matrix of few rows. The warpgroups of a CTA take the stages in
// turn, and add their sums at the end.
#pragma once
#include <algorithm>

#include "kernels/small_gemm/rows_ring.cuh"

namespace kernels::gpu::rows {

/// kWRows rows of w with all rows of x.
template <class T_, class Out_, int kXRows_, int kWRows_>
struct Plain {
  using T = T_;
  using Out = Out_;
  static constexpr int kXRows = kXRows_, kWRows = kWRows_;
  using R = Ring<kWRows, kXRows, kGroups>;
  // The left operand of a tensor-core product has 64 rows. With up to 32 rows of x it is w, which
  // reads the fewest bytes of shared memory. If a CTA has 32 rows of w, one product takes those of
  // both chunks of a stage, and the rows of x of both; two of its four blocks of sums are ignored.
  // With more rows of x it is x.
  static constexpr bool kWLeft = kXRows <= 32, kBothChunks = kWLeft && 2 * kWRows == kGroupRows;
  static_assert(kWLeft || R::kHasLeftX);
  // With 32 rows of w each chunk of a stage has sums of its own, whichever operand is left: so a
  // row's result is the same.
  static constexpr int kApart = 2 * kWRows == kGroupRows ? 2 : 1;
  static constexpr int kCount = kApart * (kWLeft ? kXRows : kWRows) / 8;  // groups of eight columns
  // Sums in shared memory, behind the ring: [kParts][kXRows][kSumStride], padded against bank
  // conflicts.
  static constexpr int kParts = kBothChunks ? 2 * kGroups : kGroups;
  static constexpr int kSumStride = kWRows + (kWLeft ? 4 : 8), kPartSums = kXRows * kSumStride;
  // A product with w on the left reads 64 rows of it, whatever those beyond kWRows hold.
  static constexpr int kBytes =
      std::max(R::kBytes + kParts * kPartSums * 4,
               kWLeft && !kBothChunks ? R::kBarriers - R::kWBytes + kGroupRows * kChunkBytes : 0);
  static_assert(kBytes <= 226 * 1024, "a multiprocessor has 227 KiB, some of them static");
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

/// The sums of a warpgroup.
template <class S>
struct PlainSums {
  static constexpr int kChunkCount = S::kCount / S::kApart;
  using R = typename S::R;
  float sums[S::kCount][4] = {};  // the second warpgroup may have no stage

  __device__ void multiply(R ring, int stages) {
    each_stage(ring, stages, sums, [&](int buffer, int stage) {
      if constexpr (S::kBothChunks) {
        multiply(sums, ring.w(buffer, 0), ring.x(buffer, 0), stage);
      } else {
#pragma unroll
        for (int chunk = 0; chunk < kGroups; ++chunk) {
          const int set = chunk % S::kApart * kChunkCount;
          const std::uint32_t w = ring.w(buffer, chunk), x = ring.x(buffer, chunk);
          multiply(reinterpret_cast<float(&)[kChunkCount][4]>(sums[set]), S::kWLeft ? w : x,
                   S::kWLeft ? x : w, S::kApart == 1 ? stage + chunk : stage);
        }
      }
    });
  }

  /// Stores them in `parts`: shared memory, [part][x row][kSumStride], a column for each row of w.
  __device__ void leave(float* parts) const {
    const int group = threadIdx.x / kGroupThreads, warp = threadIdx.x / 32 % 4,
              lane = threadIdx.x % 32, row = 16 * warp + lane / 4, two = 2 * (lane % 4);
    if constexpr (S::kBothChunks) {
      const int chunk = warp / 2;
      leave_columns(parts + (kGroups * group + chunk) * S::kPartSums, row % S::kWRows, two, chunk);
    } else if constexpr (S::kWLeft) {
      if (16 * warp < S::kWRows) leave_columns(parts + group * S::kPartSums, row, two, 0);
    } else {
      leave_rows(parts + group * S::kPartSums, row, two);
    }
  }

 private:
  template <int kCount>
  __device__ static void multiply(float (&to)[kCount][4], std::uint32_t left, std::uint32_t right,
                                  int add) {
    const std::uint64_t a = matrix_at(left, 0, kEightRows), b = matrix_at(right, 0, kEightRows);
#pragma unroll
    for (int k = 0; k < kChunk / 16; ++k)
      multiply_rows<typename S::T>(to, further(a, 32 * k), further(b, 32 * k), add + k);
  }

  /// Of sums whose rows are of w, columns of x: the first or second chunk's. `to`: as leave_rows().
  __device__ void leave_columns(float* to, int row, int two, int chunk) const {
#pragma unroll
    for (int i = 0; i < S::kXRows / 8; ++i)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const float second = S::kBothChunks ? sums[i + S::kCount - S::kXRows / 8][e] : 0;
        to[(8 * i + two + e % 2) * S::kSumStride + row + e / 2 * 8] = chunk ? second : sums[i][e];
      }
  }
  /// Of sums whose rows are of x. `to`: shared memory, [x row][kSumStride].
  __device__ void leave_rows(float* to, int row, int two) const {
#pragma unroll
    for (int i = 0; i < kChunkCount; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float2 both = {sums[i][2 * half], sums[i][2 * half + 1]};
        if constexpr (S::kApart == 2) {
          both.x += sums[i + kChunkCount][2 * half];
          both.y += sums[i + kChunkCount][2 * half + 1];
        }
        *reinterpret_cast<float2*>(to + (row + 8 * half) * S::kSumStride + 8 * i + two) = both;
      }
  }
};

/// A thread's outputs: two columns, of one or more tokens. kLanes neighboring threads have all
/// columns of the CTA.
template <class S>
struct PlainOutputs {
  using T = typename S::T;
  static constexpr bool kWide = sizeof(typename S::Out) == sizeof(float);
  static constexpr int kLanes = S::kWRows == 48 ? 32 : S::kWRows / 2,
                       kAtOnce = kComputeThreads / kLanes,
                       kItems = (S::kXRows + kAtOnce - 1) / kAtOnce;
  static_assert(S::kWRows <= 2 * kLanes, "two columns each");

  const SmallGemm& op;
  float* const parts;  // shared memory, as leave() stores them
  const int token = threadIdx.x / kLanes, pair = threadIdx.x % kLanes, column;
  const bool has_column;
  PlainSums<S> sums;
  // With a norm after the product. The weight is unpacked where it is used: until then nothing
  // waits for the load.
  float2 residual[kItems];
  std::uint32_t weight;

  /// `first`: of the CTA's columns.
  __device__ PlainOutputs(const SmallGemm& of, int first, unsigned char* shared)
      : op(of),
        parts(reinterpret_cast<float*>(shared + S::R::kBytes)),
        column(first + 2 * pair),
        has_column(2 * pair < S::kWRows && column < op.n) {}

  /// Loads what no kernel of the step writes.
  __device__ void prepare_early() {
    if (normed() && has_column)
      weight =
          *reinterpret_cast<const std::uint32_t*>(static_cast<const T*>(op.after.weight) + column);
  }
  __device__ void prepare() {
#pragma unroll
    for (int i = 0; i < kItems; ++i)
      if (normed() && has(i)) residual[i] = *reinterpret_cast<const float2*>(residual_at(i));
  }

  __device__ void multiply(typename S::R ring, int stages) {
    sums.multiply(ring, stages);
    sums.leave(parts);
  }
  __device__ void store() {
    asm volatile("bar.sync 1, %0;\n" ::"n"(kComputeThreads) : "memory");
    float2 y[kItems];
#pragma unroll
    for (int i = 0; i < kItems; ++i) y[i] = sum(i);
    if (normed()) return add_to_residual(y);
#pragma unroll
    for (int i = 0; i < kItems; ++i)
      if (has(i)) store_two(out(i), y[i].x, y[i].y);
  }

 private:
  __device__ bool normed() const { return !kWide && op.after.residual; }
  __device__ int row(int i) const { return token + i * kAtOnce; }
  __device__ bool has(int i) const { return has_column && row(i) < op.rows; }
  __device__ float* residual_at(int i) const {
    return op.after.residual + std::int64_t{row(i)} * op.n + column;
  }
  __device__ typename S::Out* out(int i) const {
    return static_cast<typename S::Out*>(op.y) + std::int64_t{row(i)} * op.y_stride + column;
  }

  /// Adds the parts, those of each warpgroup first.
  __device__ float2 sum(int i) const {
    if (!has(i)) return {};
    const auto part = [&](int p) {
      return *reinterpret_cast<const float2*>(parts + p * S::kPartSums + row(i) * S::kSumStride +
                                              2 * pair);
    };
    const auto add = [](float2 a, float2 b) { return float2{a.x + b.x, a.y + b.y}; };
    float2 y;
    if constexpr (S::kParts == 4)
      y = add(add(part(0), part(1)), add(part(2), part(3)));
    else
      y = add(part(0), part(1));
    const float by = norm_factor(op.before, row(i));
    return {by * y.x, by * y.y};
  }

  __device__ void add_to_residual(const float2 (&y)[kItems]) {
    float squares[kItems] = {};
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if (!has(i)) continue;
      float2 x = residual[i];
      x.x += to_float(from_float<T>(y[i].x));
      x.y += to_float(from_float<T>(y[i].y));
      *reinterpret_cast<float2*>(residual_at(i)) = x;
      const float2 by = unpack<T>(weight);
      store_two(out(i), x.x * by.x, x.y * by.y);
      squares[i] = x.x * x.x + x.y * x.y;
    }
#pragma unroll
    for (int lanes = kLanes / 2; lanes > 0; lanes /= 2)
#pragma unroll
      for (int i = 0; i < kItems; ++i) squares[i] += __shfl_xor_sync(kAllLanes, squares[i], lanes);
#pragma unroll
    for (int i = 0; i < kItems; ++i)
      if (pair == 0 && row(i) < op.rows)
        op.after.squares[blockIdx.x * kFusedNormRows + row(i)] = squares[i];
  }
};

template <class S>
__global__ __launch_bounds__(kThreads, 1) void rows_plain_kernel(
    [[maybe_unused]] const __grid_constant__ Launch l) {
#if KERNELS_WGMMA
  const int first = static_cast<int>(blockIdx.x) * S::kWRows;
  extern __shared__ __align__(1024) unsigned char memory[];
  PlainOutputs<S> outputs(l.op, first, memory);
  run<S>(
      l, 0,
      [&](std::uint32_t to, int stage, std::uint32_t barrier, std::uint64_t policy) {
        copy_chunks(to, l.w, first, stage * kGroups, barrier, policy);
      },
      outputs);
#endif
}

}  // namespace kernels::gpu::rows
