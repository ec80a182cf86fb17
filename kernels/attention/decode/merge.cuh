#pragma once
#include "kernels/attention/decode/heads.cuh"

/// How the sums of warps become those of a split or a quarter, and those of a row.
namespace kernels::gpu::decode {

/// Merges top and weight of all quarters of a split.
__device__ inline float2 merge_quarters(const float2 (&tops)[kWarps][kMaxGroup], int head) {
  float top = -INFINITY, weight = 0;
#pragma unroll
  for (int warp = 0; warp < kWarps; ++warp) top = fmaxf(top, tops[warp][head].x);
#pragma unroll
  for (int warp = 0; warp < kWarps; ++warp)
    weight = __fmaf_rn(tops[warp][head].y, exp2_fast(tops[warp][head].x - top), weight);
  return {top, weight};
}

__device__ inline float4 add_scaled(float4 sum, float4 x, float factor) {
  return {__fmaf_rn(x.x, factor, sum.x), __fmaf_rn(x.y, factor, sum.y),
          __fmaf_rn(x.z, factor, sum.z), __fmaf_rn(x.w, factor, sum.w)};
}

template <class T>
__device__ void store4(T* to, float4 x, float factor) {
  const uint2 raw = {pack<T>(x.x * factor, x.y * factor), pack<T>(x.z * factor, x.w * factor)};
  *reinterpret_cast<uint2*>(to) = raw;
}

/// Merges quarters of splits. Lane l has quarter l % 4 of split l / 4, whose factor within its
/// split it gets. Lane s gets top and weight of split s.
__device__ inline float2 merge_lanes(float2 quarter, int splits, float& factor) {
  const int lane = threadIdx.x % 32, first = lane / kQuarters * kQuarters;
  const float top = quad_max(quarter.x);
  factor = lane < kQuarters * splits ? exp2_fast(quarter.x - top) : 0.f;
  float weight = 0;
#pragma unroll
  for (int i = 0; i < kQuarters; ++i)
    weight = __fmaf_rn(__shfl_sync(kAllLanes, quarter.y, first + i),
                       __shfl_sync(kAllLanes, factor, first + i), weight);
  const float2 split = {__shfl_sync(kAllLanes, top, kQuarters * lane),
                        __shfl_sync(kAllLanes, weight, kQuarters * lane)};
  return lane < splits ? split : float2{-INFINITY, 0};
}

/// Merges what the warps of a CTA have; the CTA that ends last then merges splits. `Log` only sets
/// the logged kernel's merger apart: functions that both kernels call would be inlined differently.
template <class T, int kHeadDim, bool kApart, class Log>
struct Merger {
  using S = Shared<kHeadDim>;
  static constexpr int kWarpSums = S::warp_sums(kApart);
  const Arguments& a;
  const Work& work;
  int group;

  /// Place of a part's first head in the workspace.
  __device__ std::int64_t place(int part) const {
    const std::int64_t unit = std::int64_t{work.row} * a.shape.kv_heads + work.kv_head;
    return (unit * kDecodeMaxSplits + part) * group;
  }
  __device__ T* out(int head) const {
    return static_cast<T*>(a.out) +
           (std::int64_t{work.query_token} * a.shape.heads + work.kv_head * group + head) *
               kHeadDim;
  }

  /// Calls `call` for every (head, four dimensions) of this thread.
  template <class Call>
  __device__ void each(const Call& call) const {
    for (int i = threadIdx.x; i < group * kHeadDim / 4; i += kThreads)
      call(i / (kHeadDim / 4), 4 * (i % (kHeadDim / 4)));
  }

  __device__ void warps(const float* shared, const float2 (&tops)[kWarps][kMaxGroup]) const {
    if (work.quarter != kWhole) return runs(shared, tops);
    each([&](int head, int dimension) {
      const float2 all = merge_quarters(tops, head);
      float4 sum = {};
      for (int warp = 0; warp < kWarps; ++warp)
        sum = add_scaled(sum, sums_of(shared, warp, head, dimension),
                         exp2_fast(tops[warp][head].x - all.x));
      if (work.splits == 1) return store4(out(head) + dimension, sum, __fdividef(1.f, all.y));
      leave(head, dimension, sum, all);
    });
  }
  /// The warps have the runs of a quarter.
  __device__ void runs(const float* shared, const float2 (&tops)[kWarps][kMaxGroup]) const {
    each([&](int head, int dimension) {
      float2 top = tops[0][head];
      float4 sum = sums_of(shared, 0, head, dimension);
      for (int warp = 1; warp < kWarps && work.tiles(warp) > 0; ++warp) {
        const PartialMerge merge(top, tops[warp][head]);
        const float4 x = sums_of(shared, warp, head, dimension);
        sum = {merge.sum(sum.x, x.x), merge.sum(sum.y, x.y), merge.sum(sum.z, x.z),
               merge.sum(sum.w, x.w)};
        top = merge.top;
      }
      leave(head, dimension, sum, top);
    });
  }
  __device__ float4 sums_of(const float* shared, int warp, int head, int dimension) const {
    return *reinterpret_cast<const float4*>(shared + warp * kWarpSums + head * S::kSumStride +
                                            dimension);
  }
  __device__ void leave(int head, int dimension, float4 sum, float2 top) const {
    const std::int64_t at = place(work.part()) + head;
    *reinterpret_cast<float4*>(a.workspace.sums + at * kHeadDim + dimension) = sum;
    if (dimension == 0) a.workspace.tops[at] = top;
  }

  /// True in the last CTA of a row and head to end, which then sees everything that the others
  /// wrote.
  __device__ bool last() const {
    __shared__ bool is_last;
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();  // covers the writes of the whole CTA
      unsigned* arrived = a.workspace.arrived + work.row * a.shape.kv_heads + work.kv_head;
      is_last = atomicAdd(arrived, 1u) + 1 == static_cast<unsigned>(work.parts());
      if (is_last) *arrived = 0;
      __threadfence();
    }
    __syncthreads();
    return is_last;
  }

  using Factors = float (*)[kMaxGroup];  // [part][head]

  /// Computes the factor of each split's sums in the result, and of each quarter's in its split's:
  /// one warp per head, one lane per part.
  __device__ void weigh_parts(Factors splits, Factors quarters) const {
    static_assert(kDecodeMaxSplits == 32, "a lane each");
    const int lane = threadIdx.x % 32;
    for (int head = threadIdx.x / 32; head < group; head += kWarps) {
      float2 mine = {-INFINITY, 0};
      if (lane < work.parts()) mine = __ldcg(a.workspace.tops + place(lane) + head);
      if (work.quarter != kWhole) mine = merge_lanes(mine, work.splits, quarters[lane][head]);
      float top = mine.x;
      for (int lanes = 16; lanes > 0; lanes /= 2)
        top = fmaxf(top, __shfl_xor_sync(kAllLanes, top, lanes));
      const float factor = exp2_fast(mine.x - top);
      splits[lane][head] = __fdividef(factor, warp_sum(mine.y * factor));
    }
  }

  /// Merges all parts. `shared`: the memory of the warps' sums, which it overwrites.
  __device__ void parts(float* shared) const {
    const Factors splits = reinterpret_cast<Factors>(shared), quarters = splits + kDecodeMaxSplits;
    weigh_parts(splits, quarters);
    __syncthreads();
    each([&](int head, int dimension) {
      const float* sums = a.workspace.sums + (place(0) + head) * kHeadDim + dimension;
      const auto part = [&](int i) {
        return __ldcg(reinterpret_cast<const float4*>(sums + i * group * kHeadDim));
      };
      float4 sum = {};
      if (work.quarter == kWhole) {
#pragma unroll 8
        for (int i = 0; i < work.splits; ++i) sum = add_scaled(sum, part(i), splits[i][head]);
      } else {
#pragma unroll 2
        for (int i = 0; i < work.splits; ++i) {
          float4 split = {};
#pragma unroll
          for (int q = kQuarters * i; q < kQuarters * (i + 1); ++q)
            split = add_scaled(split, part(q), quarters[q][head]);
          sum = add_scaled(sum, split, splits[i][head]);
        }
      }
      store4(out(head) + dimension, sum, 1.f);
    });
  }
};

}  // namespace kernels::gpu::decode
