#pragma once
#include "kernels/attention/prefill/rows.cuh"
#include "kernels/attention/prefill/segments.hpp"
#include "kernels/device/bulk_copy.cuh"
#include "kernels/device/wgmma.cuh"

/// Parts of prefill attention on Hopper: its shared memory, and a warpgroup's rows of scores and
/// sums. attention_wgmma.cu combines them.
namespace kernels::gpu::prefill_wgmma {

using prefill::Arguments;
using prefill::kNoScore;
using prefill::kRows;
using prefill::softmax_row;
using prefill::TileRows;
using prefill::Work;

constexpr int kGroups = 2;  // consumer warpgroups
constexpr int kGroupThreads = 128;
constexpr int kGroupRows = kRows / kGroups;
static_assert(kGroupRows == prefill::kHalfRows);
constexpr int kComputeWarps = kGroups * kGroupThreads / 32;
// Plus the producer warpgroup, of which one warp copies, and the others widen KV of one byte a
// number. It leaves most of its registers to the others.
constexpr int kThreads = (kGroups + 1) * kGroupThreads;
template <class Kv, class Log>
constexpr int kCopyRegisters = Log::kOn || sizeof(Kv) == 1 ? 56 : 40;
template <class Kv, class Log>
constexpr int kComputeRegisters = (504 - kCopyRegisters<Kv, Log>) / 2;  // of 65,536 in all
constexpr int kTileKeys = prefill::kKeyTile;
constexpr int kStages = 2;
constexpr int kPanel = 64;  // columns of the swizzled panels that products read
constexpr int kPanelRowBytes = 2 * kPanel;

/// The rows of a tile that share a key head, and the keys that this CTA sums for them, as consumer
/// warps see it.
struct Part {
  std::int64_t query_token;
  int queries;  // 0: there are no more parts
  int position, keys, kv_head;
  int begin, end;  // tiles of keys; begins and ends with a segment
  int slot, cut;   // as in PrefillPart

  __device__ int tiles() const { return (keys + kTileKeys - 1) / kTileKeys; }
  __device__ bool whole() const { return begin == 0 && end == tiles(); }
};

/// Barriers of a ring of buffers: `full` when the copies have arrived, `empty` when no consumer
/// warp needs the buffer any more. Copies of KV of one byte a number arrive at `raw`, and the
/// buffer is full when they are widened.
struct Ring {
  std::uint32_t full, empty, raw;
  static constexpr int kBytes = 24;
};

/// Shared memory: queries of both warpgroups, tiles of keys and of values, sums of segments and
/// results to be stored, the part, barriers. Queries and a tile of contiguous keys are stored panel
/// by panel. Keys of blocks are stored in runs of eight rows with all their panels, so that one box
/// brings all of a block's slots.
template <int kHeadDim, KvSource kSource>
struct Shared {
  static constexpr int kPanels = kHeadDim / kPanel;
  static constexpr int kEightRows = 8 * kPanelRowBytes;  // eight rows of a panel
  static constexpr bool kPaged = kSource == KvSource::paged;
  static constexpr int kTilePanel = kPaged ? kEightRows : kTileKeys * kPanelRowBytes;  // distance
  static constexpr int kTileEightRows = kPaged ? kPanels * kEightRows : kEightRows;    // distance
  static constexpr int kTileBytes = kPanels * kTileKeys * kPanelRowBytes;
  static constexpr int kQueryPanel = kGroupRows * kPanelRowBytes;
  static constexpr int kQueryBytes = kPanels * kQueryPanel;  // queries of one warpgroup
  static constexpr int kKeys = kGroups * kQueryBytes;
  static constexpr int kValues = kKeys + kStages * kTileBytes;
  static constexpr int kOut = kValues + kStages * kTileBytes;
  // A warp's sums of earlier segments, replaced by its results.
  static constexpr int kWarpSums =
      kRows / kComputeWarps * kHeadDim * static_cast<int>(sizeof(float));
  static constexpr int kPart = kOut + kComputeWarps * kWarpSums;
  static constexpr int kCounted = kPart + 48;  // one number for each warpgroup
  static constexpr int kBarriers = kCounted + 16;
  static constexpr int kBytes = kBarriers + (1 + 2 * kStages) * Ring::kBytes;
  static_assert(sizeof(Part) <= 48, "the part's place");

  std::uint32_t base;
  __device__ std::uint32_t queries(int group) const { return base + group * kQueryBytes; }
  __device__ std::uint32_t keys(int stage) const { return base + kKeys + stage * kTileBytes; }
  __device__ std::uint32_t values(int stage) const { return base + kValues + stage * kTileBytes; }
  __device__ Ring ring(int place) const {
    const std::uint32_t at = base + kBarriers + place * Ring::kBytes;
    return {at, at + 8, at + 16};
  }
  __device__ Ring query_ring() const { return ring(0); }
  __device__ Ring key_ring(int stage) const { return ring(1 + stage); }
  __device__ Ring value_ring(int stage) const { return ring(1 + kStages + stage); }
};

using Turn = gpu::Turn<kStages>;

/// Distributes work over the CTAs in alternating directions, so that each gets long and short
/// items. Returns the item of this CTA in round `round`.
__device__ inline int item_of(int round) {
  const int cta = static_cast<int>(blockIdx.x), ctas = static_cast<int>(gridDim.x);
  return round * ctas + (round % 2 == 0 ? cta : ctas - 1 - cta);
}

/// The 64 rows of one warpgroup. A lane holds row 16 w + lane / 4 of warp w and the row 8 below; of
/// these, columns 8 n + 2 (lane % 4) and the next.
/// T is the products' type.
template <class T, int kHeadDim, KvSource kSource>
struct GroupRows {
  using S = Shared<kHeadDim, kSource>;

  float out[kHeadDim / 8][4];
  float scores[kTileKeys / 8][4] = {};
  std::uint32_t weights[kTileKeys / 16][4];  // in the layout of a product's left operand
  float top[2];                              // the segment's largest score so far, not scaled
  float weight[2];                           // this lane's partial sum of weights
  float shrink[2];                           // pending factor of `out`

  __device__ void begin() {
    begin_scores();
    begin_sums();
  }
  __device__ void begin_scores() {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      top[half] = kNoScore;
      weight[half] = 0;
    }
  }
  __device__ void begin_sums() {
#pragma unroll
    for (int n = 0; n < kHeadDim / 8; ++n)
      for (float& x : out[n]) x = 0;
  }
  /// Row of this lane within the CTA, for each of its two halves.
  __device__ static int row(int half) {
    return static_cast<int>(threadIdx.x) / 32 * 16 + 8 * half +
           static_cast<int>(threadIdx.x) % 32 / 4;
  }

  /// Enqueues scores = queries * keys^T.
  __device__ void score(std::uint64_t queries, std::uint64_t keys) {
#pragma unroll
    for (int k = 0; k < kHeadDim / 16; ++k) {
      const int panel = k / 4, in_row = k % 4 * 32;
      multiply_rows<T>(scores, further(queries, panel * S::kQueryPanel + in_row),
                       further(keys, panel * S::kTilePanel + in_row), k > 0);
    }
    commit_products();
  }
  /// Enqueues out += weights * values.
  __device__ void accumulate(std::uint64_t values) {
#pragma unroll
    for (int k = 0; k < kTileKeys / 16; ++k)
      multiply_weights<T>(out, weights[k], further(values, k * 2 * S::kTileEightRows));
    commit_products();
  }

  /// Masks the keys from `first_key` on that are behind a row's own position.
  __device__ void mask(int position, const TileRows& tile, int first_key) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int visible =
          position + tile.token(row(half)) - first_key - 2 * (static_cast<int>(threadIdx.x) % 4);
#pragma unroll
      for (int n = 0; n < kTileKeys / 8; ++n)
#pragma unroll
        for (int e = 0; e < 2; ++e)
          if (8 * n + e > visible) scores[n][2 * half + e] = kNoScore;
    }
  }

  /// Converts scores to weights relative to the new maximum.
  __device__ void softmax(float scale_log2) {
#pragma unroll
    for (int half = 0; half < 2; ++half)
      shrink[half] = softmax_row(scores, half, top[half], weight[half], scale_log2);
  }

  /// Rescales the sums so far to the new maximum.
  __device__ void rescale() {
#pragma unroll
    for (int n = 0; n < kHeadDim / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) out[n][i] = __fmul_rn(out[n][i], shrink[i / 2]);
  }
  __device__ void pack_weights() {
#pragma unroll
    for (int k = 0; k < kTileKeys / 16; ++k)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float* pair = &scores[2 * k + i / 2][2 * (i % 2)];
        weights[k][i] = pack<T>(pair[0], pair[1]);
      }
  }

  /// Divides by `weights` and stores the rows in shared memory, in the layout of swizzled().
  template <class Out>
  __device__ void finish(unsigned char* to, const float (&weights)[2]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float factor = __fdividef(1.f, weights[half]);
#pragma unroll
      for (int n = 0; n < kHeadDim / 8; ++n)
        *reinterpret_cast<std::uint32_t*>(to + swizzled<2 * kHeadDim>(row(half), n) +
                                          4 * (threadIdx.x % 4)) =
            pack<Out>(out[n][2 * half] * factor, out[n][2 * half + 1] * factor);
    }
  }
};

}  // namespace kernels::gpu::prefill_wgmma
