#pragma once
#include "kernels/attention/prefill/wgmma_rows.cuh"

/// Sums of segments: how they are merged within a CTA, and how CTAs that share a tile leave them
/// for the one that merges them.
namespace kernels::gpu::prefill_wgmma {

/// Memory of CTAs that share items, in one allocation. An item has a slot for the sums of its first
/// part, then one for each segment behind it, for the rows of both warpgroups.
struct Workspace {
  int* done = nullptr;      // [slots][kGroups] at an item's first slot: its segments that are done;
                            // 0 between launches
  float2* slots = nullptr;  // [slots][pairs][threads]
  int pairs = 0;  // of a thread: its sums, then the score and weight of each of its two rows
  std::size_t bytes = 0;

  static constexpr int kThreadCount = kGroups * kGroupThreads;

  static Workspace lay_out(void* start, int slots, const HeadShape& shape) {
    Workspace w;
    w.pairs = shape.head_dim / 8 * 2 + 2;
    const auto count = static_cast<std::size_t>(slots);
    const std::size_t counts = (count * kGroups * sizeof(int) + 255) / 256 * 256;
    w.done = static_cast<int*>(start);
    w.slots = reinterpret_cast<float2*>(static_cast<char*>(start) + counts);
    w.bytes = counts + count * static_cast<std::size_t>(w.pairs) * kThreadCount * sizeof(float2);
    return w;
  }
  /// This thread's pairs in a slot, which are kThreadCount apart.
  __device__ float2* slot(int place) const {
    return slots + std::int64_t{place} * pairs * kThreadCount + threadIdx.x;
  }
};

/// The largest score and the sum of weights of a thread's two rows.
struct RowWeights {
  float top[2];     // not scaled
  float weight[2];  // relative to it, of the whole row
};

/// Combines sums of earlier keys with those of the segment that follows, which a row may not see.
struct Merge {
  float earlier, later;  // factors
  bool seen;

  __device__ Merge(bool seen, float& top, float& weight, float later_top, float later_weight,
                   float scale_log2)
      : seen(seen) {
    const float now = fmaxf(top, later_top);
    earlier = exp2_fast(__fmul_rn(__fsub_rn(top, now), scale_log2));
    later = exp2_fast(__fmul_rn(__fsub_rn(later_top, now), scale_log2));
    if (!seen) return;
    top = now;
    weight = __fmaf_rn(later_weight, later, __fmul_rn(weight, earlier));
  }
  __device__ float operator()(float before, float after) const {
    return seen ? __fmaf_rn(after, later, __fmul_rn(before, earlier)) : before;
  }
  __device__ float2 operator()(float2 before, float2 after) const {
    return {(*this)(before.x, after.x), (*this)(before.y, after.y)};
  }
};

/// Calls `call(pair, index, half)` with the sums of a thread in pairs of columns, and the index of
/// the pair in memory where a thread's pairs are `stride` apart.
template <int kCount, class Call>
__device__ inline void each_pair(float (&out)[kCount][4], int stride, const Call& call) {
#pragma unroll
  for (int n = 0; n < kCount; ++n)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float2 pair = {out[n][2 * half], out[n][2 * half + 1]};
      call(pair, (2 * n + half) * stride, half);
      out[n][2 * half] = pair.x;
      out[n][2 * half + 1] = pair.y;
    }
}

}  // namespace kernels::gpu::prefill_wgmma
