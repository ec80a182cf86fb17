// Attention of single query tokens: bound by reading keys and values once, so everything serves to
// keep many bytes on their way. After FlashDecoding (Dao et al. 2023) and grouped-query attention
// (Ainslie et al. 2023, arXiv 2305.13245).
//
// A context is cut into splits by its own length alone. A CTA takes (row, split, key head) from a
// list, the next whenever it is done; its four warps take turns at tiles of 16 tokens, each with
// its own buffers of asynchronous copies, so that no warp waits for another until the end. The
// query heads of a group share the tile: as rows of one tensor-core product for the scores, as
// columns of another for the weighted sums. Warps, then splits, are merged in a fixed order, the
// splits by whichever CTA ends last.
#include "kernels/device/access_log.cuh"
#include "kernels/device/decode_workspace.cuh"
#include "kernels/device/kv_rows.cuh"
#include "kernels/device/launch.cuh"
#include "kernels/device/mma.cuh"

namespace kernels::gpu {
namespace {

constexpr int kWarps = 4;
constexpr int kThreads = 32 * kWarps;
constexpr int kTileKeys = 16;  // of a warp
constexpr int kStages = 3;     // tiles of a warp in shared memory
constexpr int kMaxGroup = 8;   // query heads that share a key head
constexpr unsigned kAllLanes = 0xffffffffu;

struct Arguments {
  HeadShape shape;
  const void* qkv;
  const void* arena;
  const std::int32_t* block_tables;
  int table_stride;
  int layer;
  KvPlaces places;
  float scale_log2;  // of the scores, times log2(e)
  void* out;
  DecodeWorkspace workspace;
};

/// What a CTA computes: some keys of one sequence for the query heads of one key head.
struct Work : DecodeUnit {
  int kv_head;
  const std::int32_t* table;

  __device__ Work(const Arguments& a, const DecodeUnit& unit, int kv_head)
      : DecodeUnit(unit),
        kv_head(kv_head),
        table(a.block_tables + std::int64_t{unit.sequence} * a.table_stride) {}
  /// Tiles of this warp: one in kWarps.
  __device__ int tiles(int warp) const {
    const int all = (end - begin + kTileKeys - 1) / kTileKeys;
    return (all - warp + kWarps - 1) / kWarps;
  }
  __device__ int tile_begin(int warp, int tile) const {
    return begin + (tile * kWarps + warp) * kTileKeys;
  }
};

template <int kHeadDim>
struct Shared {
  static constexpr int kRowBytes = 2 * kHeadDim;
  static constexpr int kPieces = kRowBytes / 16;
  static constexpr int kTileBytes = kTileKeys * kRowBytes;
  static constexpr int kWarpBytes = kStages * 2 * kTileBytes;  // keys and values
  static constexpr int kBytes = kWarps * kWarpBytes;
  // The sums of a warp, which take the place of its tiles at the end; padded against conflicts.
  static constexpr int kSumStride = kHeadDim + 4;
  static_assert(kMaxGroup * kSumStride * sizeof(float) <= kWarpBytes, "sums fit");
};

/// Enqueues the copies of one warp's tiles. A lane looks up eight tokens of one of 16 tiles ahead.
template <class T, int kHeadDim, class Log>
struct TileLoader {
  using S = Shared<kHeadDim>;
  static constexpr int kRowsAtOnce = 32 / S::kPieces;

  const Arguments& a;
  const Work& work;
  const Log& log;
  const T* keys;
  std::uint32_t buffers;  // of this warp
  int warp, lane;
  EightTokens found;  // lane l: half l % 2 of tile l / 2 of every 16

  __device__ TileLoader(const Arguments& a, const Work& work, const Log& log, std::uint32_t base)
      : a(a),
        work(work),
        log(log),
        keys(static_cast<const T*>(a.arena) + a.places.head_start(work.kv_head)),
        buffers(base + threadIdx.x / 32 * S::kWarpBytes),
        warp(threadIdx.x / 32),
        lane(threadIdx.x % 32) {}

  __device__ std::uint32_t key_tile(int tile) const {
    return buffers + tile % kStages * 2 * S::kTileBytes;
  }
  __device__ std::uint32_t value_tile(int tile) const { return key_tile(tile) + S::kTileBytes; }

  __device__ void load(int tile) {
    const int first = work.tile_begin(warp, tile), look = tile % 16;
    if (look == 0) look_up(tile);
    const int piece = lane % S::kPieces;
#pragma unroll
    for (int i = 0; i < kTileKeys / kRowsAtOnce; ++i) {
      const int row = i * kRowsAtOnce + lane / S::kPieces;
      const std::int64_t start = __shfl_sync(kAllLanes, found.element, 2 * look + row / 8);
      const bool valid = first + row < work.end;
      const T* key = keys + start + row % 8 * kHeadDim + 8 * piece;
      const std::uint32_t place = swizzled<S::kRowBytes>(row, piece);
      copy_async(key_tile(tile) + place, key, valid);
      copy_async(value_tile(tile) + place, key + a.places.value_distance, valid);
    }
    if constexpr (Log::kOn) write_log(tile);
  }

  __device__ void look_up(int tile) {
    const int first = work.tile_begin(warp, tile + lane / 2) + 8 * (lane % 2);
    if (first < work.end) found = a.places.find(work.table, first);
  }

  /// One record for the part of a block that lies in the tile.
  __device__ void write_log(int tile) const {
    const int begin = work.tile_begin(warp, tile);
    const int first = begin + 8 * (lane % 2);
    if (lane / 2 != tile % 16 || first >= work.end) return;
    if (lane % 2 != 0 && found.slot != 0) return;
    const int tokens = min(work.end, begin + kTileKeys) - first;
    const int left = static_cast<int>(a.places.block_size.divisor) - found.slot;
    log.record(AccessKind::read, found.block, a.layer, work.kv_head, found.slot, min(left, tokens));
  }
};

/// A warp's share of the result. As rows of scores, a lane's head is lane / 4; as columns of sums,
/// its heads are 2 (lane % 4) and the next.
template <class T, int kHeadDim>
struct Heads {
  using S = Shared<kHeadDim>;
  static constexpr float kNone = -INFINITY;

  std::uint32_t query[kHeadDim / 16][2];  // rows 8 to 15 of the product are 0
  float out[kHeadDim / 16][4];            // [16 dimensions][8 heads] each
  float top = kNone;                      // the largest score so far, in powers of 2
  float weight = 0;                       // this lane's part of the sum of weights

  __device__ Heads(const Arguments& a, const Work& work) {
    const int lane = threadIdx.x % 32, head = lane / 4, group = a.shape.group();
    const T* q = static_cast<const T*>(a.qkv) +
                 std::int64_t{work.query_token} * a.shape.qkv_width() +
                 (work.kv_head * group + head) * kHeadDim + 2 * (lane % 4);
#pragma unroll
    for (int k = 0; k < kHeadDim / 16; ++k) {
      for (int half = 0; half < 2; ++half)
        query[k][half] =
            head < group ? *reinterpret_cast<const std::uint32_t*>(q + 16 * k + 8 * half) : 0u;
      for (float& x : out[k]) x = 0;
    }
  }

  /// Scores of 16 keys: [key / 8][this lane's two].
  __device__ void score(float (&scores)[2][2], std::uint32_t keys) const {
    const int lane = threadIdx.x % 32;
    float sums[2][2][4] = {};  // even and odd k apart: two chains instead of one
#pragma unroll
    for (int k = 0; k < kHeadDim / 16; ++k) {
      std::uint32_t key[4];
      load_matrices(key,
                    keys + swizzled<S::kRowBytes>(lane % 8 + lane / 16 * 8, 2 * k + lane / 8 % 2));
      const std::uint32_t q[4] = {query[k][0], 0u, query[k][1], 0u};
      multiply_add<T>(sums[k % 2][0], q, key[0], key[1]);
      multiply_add<T>(sums[k % 2][1], q, key[2], key[3]);
    }
#pragma unroll
    for (int n = 0; n < 2; ++n)
      for (int e = 0; e < 2; ++e) scores[n][e] = sums[0][n][e] + sums[1][n][e];
  }

  /// Takes 16 keys into the sums; those from `valid` on are hidden.
  __device__ void add(std::uint32_t keys, std::uint32_t values, int valid, float scale_log2) {
    const int lane = threadIdx.x % 32;
    float scores[2][2];
    score(scores, keys);
    float now = top;
#pragma unroll
    for (int n = 0; n < 2; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const bool hidden = 8 * n + 2 * (lane % 4) + e >= valid;
        scores[n][e] = hidden ? kNone : scores[n][e] * scale_log2;
        now = fmaxf(now, scores[n][e]);
      }
    now = fmaxf(now, __shfl_xor_sync(kAllLanes, now, 1));
    now = fmaxf(now, __shfl_xor_sync(kAllLanes, now, 2));
    const float shrink = exp2_fast(top - now);
    top = now;
    float sum = 0;
#pragma unroll
    for (int n = 0; n < 2; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        scores[n][e] = exp2_fast(scores[n][e] - now);
        sum += scores[n][e];
      }
    weight = weight * shrink + sum;
    accumulate(scores, shrink, values);
  }

  /// The product is [dimension][key] x [key][head], the weights as they lie are its right side.
  __device__ void accumulate(const float (&weights)[2][2], float shrink, std::uint32_t values) {
    const int lane = threadIdx.x % 32;
    const float shrink_even = __shfl_sync(kAllLanes, shrink, 8 * (lane % 4));
    const float shrink_odd = __shfl_sync(kAllLanes, shrink, 8 * (lane % 4) + 4);
    const std::uint32_t low = pack<T>(weights[0][0], weights[0][1]);
    const std::uint32_t high = pack<T>(weights[1][0], weights[1][1]);
#pragma unroll
    for (int n = 0; n < kHeadDim / 16; ++n) {
      std::uint32_t value[4];
      load_transposed(
          value, values + swizzled<S::kRowBytes>(lane % 8 + lane / 16 * 8, 2 * n + lane / 8 % 2));
      out[n][0] *= shrink_even;
      out[n][1] *= shrink_odd;
      out[n][2] *= shrink_even;
      out[n][3] *= shrink_odd;
      multiply_add<T>(out[n], value, low, high);
    }
  }

  /// Leaves the sums as [head][dimension] in the warp's buffers.
  __device__ void leave(float* sums, float2* tops) {
    const int lane = threadIdx.x % 32;
    weight += __shfl_xor_sync(kAllLanes, weight, 1);
    weight += __shfl_xor_sync(kAllLanes, weight, 2);
    if (lane % 4 == 0) tops[lane / 4] = {top, weight};
#pragma unroll
    for (int n = 0; n < kHeadDim / 16; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int head = 2 * (lane % 4) + e % 2, dimension = 16 * n + lane / 4 + 8 * (e / 2);
        sums[head * S::kSumStride + dimension] = out[n][e];
      }
  }
};

/// Top and weight of all warps of a CTA together.
__device__ float2 merge_warps(const float2 (&tops)[kWarps][kMaxGroup], int head) {
  float top = -INFINITY, weight = 0;
#pragma unroll
  for (int warp = 0; warp < kWarps; ++warp) top = fmaxf(top, tops[warp][head].x);
#pragma unroll
  for (int warp = 0; warp < kWarps; ++warp)
    weight += tops[warp][head].y * exp2_fast(tops[warp][head].x - top);
  return {top, weight};
}

__device__ float4 add_scaled(float4 sum, float4 x, float factor) {
  return {sum.x + x.x * factor, sum.y + x.y * factor, sum.z + x.z * factor, sum.w + x.w * factor};
}

template <class T>
__device__ void store4(T* to, float4 x, float factor) {
  const uint2 raw = {pack<T>(x.x * factor, x.y * factor), pack<T>(x.z * factor, x.w * factor)};
  *reinterpret_cast<uint2*>(to) = raw;
}

/// Merges warps, then, in the CTA that ends last, splits.
template <class T, int kHeadDim>
struct Merger {
  using S = Shared<kHeadDim>;
  const Arguments& a;
  const Work& work;
  int group;

  __device__ std::int64_t part(int split) const {
    const std::int64_t unit = std::int64_t{work.row} * a.shape.kv_heads + work.kv_head;
    return (unit * kDecodeMaxSplits + split) * group;
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

  __device__ void warps(const unsigned char* shared,
                        const float2 (&tops)[kWarps][kMaxGroup]) const {
    each([&](int head, int dimension) {
      const float2 all = merge_warps(tops, head);
      float4 sum = {};
      for (int warp = 0; warp < kWarps; ++warp) {
        const float* sums = reinterpret_cast<const float*>(shared + warp * S::kWarpBytes);
        sum = add_scaled(sum,
                         *reinterpret_cast<const float4*>(sums + head * S::kSumStride + dimension),
                         exp2_fast(tops[warp][head].x - all.x));
      }
      if (work.splits == 1) return store4(out(head) + dimension, sum, __fdividef(1.f, all.y));
      const std::int64_t at = part(work.split) + head;
      *reinterpret_cast<float4*>(a.workspace.sums + at * kHeadDim + dimension) = sum;
      if (dimension == 0) a.workspace.tops[at] = all;
    });
  }

  /// True in the CTA that ends last of a row and head; everything of the others is visible then.
  __device__ bool last() const {
    __shared__ bool is_last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
      unsigned* arrived = a.workspace.arrived + work.row * a.shape.kv_heads + work.kv_head;
      is_last = atomicAdd(arrived, 1u) + 1 == static_cast<unsigned>(work.splits);
      if (is_last) *arrived = 0;
      __threadfence();
    }
    __syncthreads();
    return is_last;
  }

  /// What the sums of each split are multiplied with in the result; a warp a head, a lane a split.
  __device__ void weigh_splits(float (&factors)[kDecodeMaxSplits][kMaxGroup]) const {
    static_assert(kDecodeMaxSplits == 32, "a lane each");
    const int lane = threadIdx.x % 32;
    for (int head = threadIdx.x / 32; head < group; head += kWarps) {
      float2 mine = {-INFINITY, 0};
      if (lane < work.splits) mine = __ldcg(a.workspace.tops + part(lane) + head);
      float top = mine.x;
      for (int lanes = 16; lanes > 0; lanes /= 2)
        top = fmaxf(top, __shfl_xor_sync(kAllLanes, top, lanes));
      const float factor = exp2_fast(mine.x - top);
      factors[lane][head] = __fdividef(factor, warp_sum(mine.y * factor));
    }
  }

  __device__ void splits() const {
    __shared__ float factors[kDecodeMaxSplits][kMaxGroup];
    weigh_splits(factors);
    __syncthreads();
    each([&](int head, int dimension) {
      const float* sums = a.workspace.sums + (part(0) + head) * kHeadDim + dimension;
      float4 sum = {};
#pragma unroll 8
      for (int split = 0; split < work.splits; ++split)
        sum = add_scaled(sum,
                         __ldcg(reinterpret_cast<const float4*>(sums + split * group * kHeadDim)),
                         factors[split][head]);
      store4(out(head) + dimension, sum, 1.f);
    });
  }
};

template <class T, int kHeadDim, class Log>
__device__ void attend(const Arguments& a, const Work& work, const Log& log,
                       unsigned char* shared) {
  using S = Shared<kHeadDim>;
  __shared__ float2 tops[kWarps][kMaxGroup];
  const int warp = threadIdx.x / 32;
  TileLoader<T, kHeadDim, Log> loader(a, work, log, shared_address(shared));
  const int tiles = work.tiles(warp);
#pragma unroll
  for (int tile = 0; tile < kStages - 1; ++tile) {
    if (tile < tiles) loader.load(tile);
    commit_copies();
  }
  Heads<T, kHeadDim> heads(a, work);
  for (int tile = 0; tile < tiles; ++tile) {
    wait_copies<kStages - 2>();
    __syncwarp();  // the tile is there for all lanes, and the one before is no longer read
    if (tile + kStages - 1 < tiles) loader.load(tile + kStages - 1);
    commit_copies();
    heads.add(loader.key_tile(tile), loader.value_tile(tile),
              work.end - work.tile_begin(warp, tile), a.scale_log2);
  }
  __syncwarp();
  heads.leave(reinterpret_cast<float*>(shared + warp * S::kWarpBytes), tops[warp]);
  __syncthreads();
  const Merger<T, kHeadDim> merger = {a, work, a.shape.group()};
  merger.warps(shared, tops);
  if (work.splits > 1 && merger.last()) merger.splits();
}

template <class T, int kHeadDim, class Log>
__global__ __launch_bounds__(kThreads,
                             2) void decode_attention_kernel(const __grid_constant__ Arguments a,
                                                             const Log log) {
  extern __shared__ __align__(1024) unsigned char shared[];
  __shared__ int shared_unit;
  const DecodeWorkspace& w = a.workspace;
  int unit = blockIdx.x;
  DecodeUnit found = w.units[unit / a.shape.kv_heads];  // under way together with the count
  const int units = *w.unit_count * a.shape.kv_heads;
  while (unit < units) {
    int next = 0;  // asked for early, so that the answer is there when this unit is done
    if (threadIdx.x == 0) next = static_cast<int>(gridDim.x + atomicAdd(w.taken, 1u));
    attend<T, kHeadDim>(a, Work(a, found, unit % a.shape.kv_heads), log, shared);
    if (threadIdx.x == 0) shared_unit = next;
    __syncthreads();  // also, the next unit's copies go where this one's sums are
    unit = shared_unit;
    if (unit < units) found = w.units[unit / a.shape.kv_heads];
  }
  if (threadIdx.x == 0 && atomicAdd(w.left, 1u) + 1 == gridDim.x) *w.taken = *w.left = 0;
}

/// CTAs that run at once on the current device; all devices of a process are taken to be alike.
template <class Kernel>
int resident_ctas(Kernel kernel, int shared_bytes) {
  int device = 0, multiprocessors = 0, each = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
        "multiprocessors");
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes),
        "decode_attention");
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, kThreads,
                                                      static_cast<std::size_t>(shared_bytes)),
        "decode_attention");
  return multiprocessors * each;
}

template <class T, int kHeadDim, class Log>
void launch_decode(const DecodeAttention& op, const Log& log, cudaStream_t stream) {
  constexpr float kLog2E = 1.4426950408889634f;
  const auto kernel = decode_attention_kernel<T, kHeadDim, Log>;
  constexpr int kBytes = Shared<kHeadDim>::kBytes;
  static const int resident = resident_ctas(kernel, kBytes);
  const Arguments arguments = {op.shape,
                               op.qkv,
                               op.kv.arena,
                               op.kv.block_tables,
                               op.kv.table_stride,
                               op.kv.layer,
                               KvPlaces(op.kv),
                               op.scale * kLog2E,
                               op.out,
                               DecodeWorkspace::lay_out(op.workspace, op.rows, op.shape)};
  const int most = op.rows * op.shape.kv_heads * kDecodeMaxSplits;
  const Grid grid = {static_cast<unsigned>(most < resident ? most : resident), kThreads, kBytes};
  launch("decode_attention", kernel, grid, stream, arguments, log);
}

}  // namespace

void decode_attention(const DecodeAttention& op, cudaStream_t stream) {
  const int size = op.kv.layout.block_size;
  require(size > 0 && size % 8 == 0 && size <= 1024,
          "decode_attention: block_size is not a multiple of 8 up to 1024");
  require(op.shape.group() <= kMaxGroup,
          "decode_attention: more than 8 query heads share a key head");
  require(op.shape.head_dim == 64 || op.shape.head_dim == 128,
          "decode_attention: head_dim is neither 64 nor 128");
  if (op.rows == 0) return;
  with_16_bit(op.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    with_log(op.log, [&](auto log) {
      if (op.shape.head_dim == 64) return launch_decode<T, 64>(op, log, stream);
      launch_decode<T, 128>(op, log, stream);
    });
  });
}

}  // namespace kernels::gpu
