// Attention of prompt chunks on tensor cores, after FlashAttention-2 (Dao 2023, arXiv 2307.08691).
//
// A CTA owns 128 rows, a row being a query token and one of the query heads that share a key head,
// so that a group reads its keys once. Keys come in tiles of 48 from the first on, double-buffered
// with asynchronous copies; scores, softmax (base 2) and weighted sum of a tile stay in registers.
// A row's operations depend on its position alone: tiles that a row does not see leave its sums
// bitwise unchanged, so a prompt's results do not depend on how it is cut into chunks.
#include <algorithm>
#include <type_traits>

#include "kernels/device/access_log.cuh"
#include "kernels/device/attention.hpp"
#include "kernels/device/kv_rows.cuh"
#include "kernels/device/launch.cuh"
#include "kernels/device/mma.cuh"

namespace kernels::gpu {
namespace {

constexpr int kWarps = 4;
constexpr int kThreads = 32 * kWarps;
constexpr int kRows = 128;                   // of a CTA
constexpr int kBands = kRows / kWarps / 16;  // 16-row fragments of a warp
constexpr int kTileKeys = 48;
constexpr int kFragments = kTileKeys / 8;  // of scores along the keys
constexpr unsigned kAllLanes = 0xffffffffu;

struct Arguments {
  HeadShape shape;
  int group_shift;  // log2 of the group
  const PrefillTile* tiles;
  const std::int32_t* query_start;
  const std::int32_t* context;
  const void* qkv;
  const void* arena;
  const std::int32_t* block_tables;
  int table_stride;
  int layer;
  KvPlaces places;
  float scale_log2;  // of the scores, times log2(e)
  void* out;
};

/// What this CTA computes.
struct Work {
  int kv_head;
  int group_shift;
  std::int64_t query_token;      // of the batch: the tile's first
  int queries;                   // tokens from there to the end of the chunk
  int position;                  // of the first query
  int keys;                      // that any of the rows sees
  std::int64_t first_key_token;  // contiguous: the sequence's first token in the batch
  const std::int32_t* table;     // paged: the sequence's blocks

  __device__ Work(const Arguments& a) : kv_head(blockIdx.x), group_shift(a.group_shift) {
    const PrefillTile tile = a.tiles[blockIdx.y];
    const int start = a.query_start[tile.sequence];
    const int all_queries = a.query_start[tile.sequence + 1] - start;
    const int prior = a.context[tile.sequence] - all_queries;
    query_token = start + tile.first;
    queries = all_queries - tile.first;
    position = prior + tile.first;
    keys = min(a.context[tile.sequence], position + (kRows >> group_shift));
    first_key_token = start;
    table = a.block_tables + std::int64_t{tile.sequence} * a.table_stride;
  }
  __device__ int tiles() const { return (keys + kTileKeys - 1) / kTileKeys; }
  /// Tiles whose keys every row sees.
  __device__ int full_tiles() const { return (position + 1) / kTileKeys; }
  __device__ bool has_row(int row) const { return (row >> group_shift) < queries; }
  __device__ std::int64_t row_token(int row) const { return query_token + (row >> group_shift); }
  __device__ int row_head(int row) const {
    return (kv_head << group_shift) + (row & ((1 << group_shift) - 1));
  }
};

template <int kHeadDim>
struct Shared {
  static constexpr int kRowBytes = 2 * kHeadDim;
  static constexpr int kPieces = kRowBytes / 16;
  static constexpr int kTileBytes = kTileKeys * kRowBytes;
  static constexpr int kQueryBytes = kRows * kRowBytes;
  static constexpr int kBytes = kQueryBytes + 4 * kTileBytes;  // Q, two tiles of K, two of V
  static __device__ std::uint32_t keys(std::uint32_t base, int buffer) {
    return base + kQueryBytes + buffer * 2 * kTileBytes;
  }
  static __device__ std::uint32_t values(std::uint32_t base, int buffer) {
    return keys(base, buffer) + kTileBytes;
  }
};

template <class T, int kHeadDim>
__device__ void load_queries(const Arguments& a, const Work& work, std::uint32_t base) {
  using S = Shared<kHeadDim>;
  const T* qkv = static_cast<const T*>(a.qkv);
#pragma unroll 4
  for (int i = threadIdx.x; i < kRows * S::kPieces; i += kThreads) {
    const int row = i / S::kPieces, piece = i % S::kPieces;
    const bool valid = work.has_row(row);
    const std::int64_t at = valid ? work.row_token(row) * a.shape.qkv_width() +
                                        work.row_head(row) * kHeadDim + 8 * piece
                                  : 0;
    copy_async(base + swizzled<S::kRowBytes>(row, piece), qkv + at, valid);
  }
}

/// Finds tiles of keys and values and enqueues their copies. Each lane looks up eight tokens of the
/// next tile while the current one is computed; the copies get them by shuffles.
template <class T, int kHeadDim, KvSource kSource, class Log>
struct TileLoader {
  using S = Shared<kHeadDim>;
  static constexpr int kRowsAtOnce = kThreads / S::kPieces;

  const Arguments& a;
  const Work& work;
  const Log& log;
  const T* keys;  // this head's; paged: slot 0 of block 0; contiguous: the sequence's first token
  EightTokens next;  // lane l: tokens 8 (l % 8) of the tile to be loaded next

  __device__ TileLoader(const Arguments& a, const Work& work, const Log& log)
      : a(a), work(work), log(log) {
    if constexpr (kSource == KvSource::paged) {
      keys = static_cast<const T*>(a.arena) + a.places.head_start(work.kv_head);
    } else {
      keys = static_cast<const T*>(a.qkv) + work.first_key_token * a.shape.qkv_width() +
             (a.shape.heads + work.kv_head) * kHeadDim;
    }
    look_up(0);
  }

  __device__ void look_up(int tile) {
    if constexpr (kSource == KvSource::paged) {
      const int first = tile * kTileKeys + 8 * (threadIdx.x % 8);
      if (first >= work.keys) return;  // nothing is read from where `next` points then
      next = a.places.find(work.table, first);
    }
  }

  __device__ void load(int tile, std::uint32_t key_tile, std::uint32_t value_tile) {
    const int piece = threadIdx.x % S::kPieces;
#pragma unroll
    for (int i = 0; i < kTileKeys / kRowsAtOnce; ++i) {
      const int row = i * kRowsAtOnce + threadIdx.x / S::kPieces;
      const bool valid = tile * kTileKeys + row < work.keys;
      const T* key = keys + row_start(tile, row) + 8 * piece;
      const std::uint32_t place = swizzled<S::kRowBytes>(row, piece);
      copy_async(key_tile + place, key, valid);
      copy_async(value_tile + place, key + a.places.value_distance, valid);
    }
    if constexpr (Log::kOn) write_log(tile);
    look_up(tile + 1);
  }

  __device__ std::int64_t row_start(int tile, int row) const {
    if constexpr (kSource == KvSource::paged)
      return __shfl_sync(kAllLanes, next.element, row / 8) + (row % 8) * kHeadDim;
    else
      return std::int64_t{tile * kTileKeys + row} * a.shape.qkv_width();
  }

  /// One record for the part of a block that lies in the tile.
  __device__ void write_log(int tile) const {
    if constexpr (Log::kOn && kSource == KvSource::paged) {
      const int first = tile * kTileKeys + 8 * static_cast<int>(threadIdx.x);
      if (threadIdx.x >= kTileKeys / 8 || first >= work.keys) return;
      if (threadIdx.x != 0 && next.slot != 0) return;
      const int end = min(work.keys, (tile + 1) * kTileKeys);
      log.record(AccessKind::read, next.block, a.layer, work.kv_head, next.slot,
                 min(static_cast<int>(a.places.block_size.divisor) - next.slot, end - first));
    }
  }
};

/// The rows of one warp: 16-row bands, of which a lane holds row lane / 4 and the one 8 below.
template <class T, int kHeadDim>
struct Rows {
  using S = Shared<kHeadDim>;
  static constexpr float kNone = -INFINITY;

  float out[kBands][kHeadDim / 8][4];
  float scores[kBands][kFragments][4];
  float top[kBands][2];     // the largest score so far, not scaled
  float weight[kBands][2];  // this lane's part of the sum of weights

  __device__ explicit Rows(std::uint32_t queries) {
    const int lane = threadIdx.x % 32;
    query_lane = queries + swizzled<S::kRowBytes>(first_row() + lane % 16, lane / 16);
    key_lane = swizzled<S::kRowBytes>(lane % 8 + lane / 16 * 8, lane / 8 % 2);
    value_lane = swizzled<S::kRowBytes>(lane % 16, lane / 16);
#pragma unroll
    for (int band = 0; band < kBands; ++band) {
      for (int half = 0; half < 2; ++half) {
        top[band][half] = kNone;
        weight[band][half] = 0;
      }
#pragma unroll
      for (int n = 0; n < kHeadDim / 8; ++n)
        for (float& x : out[band][n]) x = 0;
    }
  }

  // A lane's addresses in swizzled tiles. Rows start at multiples of their size and pieces are
  // exchanged by exclusive or, so the address of the pair of pieces 2 p further is `^ pair(p)`.
  std::uint32_t query_lane, key_lane, value_lane;
  __device__ static constexpr std::uint32_t pair(int p) {
    return static_cast<std::uint32_t>(p) << 5;
  }

  __device__ static int first_row() { return threadIdx.x / 32 * (16 * kBands); }

  __device__ void score(std::uint32_t keys) {
#pragma unroll
    for (int band = 0; band < kBands; ++band)
#pragma unroll
      for (int n = 0; n < kFragments; ++n)
        for (float& x : scores[band][n]) x = 0;
#pragma unroll
    for (int k = 0; k < kHeadDim / 16; ++k) {
      std::uint32_t q[kBands][4];
#pragma unroll
      for (int band = 0; band < kBands; ++band)
        load_matrices(q[band], (query_lane ^ pair(k)) + 16 * band * S::kRowBytes);
#pragma unroll
      for (int n = 0; n < kFragments / 2; ++n) {
        std::uint32_t key[4];
        load_matrices(key, ((keys + key_lane) ^ pair(k)) + 16 * n * S::kRowBytes);
#pragma unroll
        for (int band = 0; band < kBands; ++band) {
          multiply_add<T>(scores[band][2 * n], q[band], key[0], key[1]);
          multiply_add<T>(scores[band][2 * n + 1], q[band], key[2], key[3]);
        }
      }
    }
  }

  /// Hides the keys of this tile that come after a row's own position.
  __device__ void mask(const Work& work, int first_key) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int band = 0; band < kBands; ++band)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = first_row() + 16 * band + 8 * half + lane / 4;
        const int visible = work.position + (row >> work.group_shift) - first_key - 2 * (lane % 4);
#pragma unroll
        for (int n = 0; n < kFragments; ++n)
#pragma unroll
          for (int e = 0; e < 2; ++e)
            if (8 * n + e > visible) scores[band][n][2 * half + e] = kNone;
      }
  }

  /// Scores become weights relative to the new top; what was summed so far is brought to it.
  __device__ void soften(float scale_log2) {
#pragma unroll
    for (int band = 0; band < kBands; ++band)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float before = top[band][half];
        float now = before;
#pragma unroll
        for (int n = 0; n < kFragments; ++n)
          now = fmaxf(now, fmaxf(scores[band][n][2 * half], scores[band][n][2 * half + 1]));
        now = fmaxf(now, __shfl_xor_sync(kAllLanes, now, 1));
        now = fmaxf(now, __shfl_xor_sync(kAllLanes, now, 2));
        top[band][half] = now;
        const float shrink = exp2_fast(__fmul_rn(__fsub_rn(before, now), scale_log2));
        const float offset = __fmul_rn(-now, scale_log2);
        float sum = 0;
#pragma unroll
        for (int n = 0; n < kFragments; ++n)
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            float& x = scores[band][n][2 * half + e];
            x = exp2_fast(__fmaf_rn(x, scale_log2, offset));
            sum = __fadd_rn(sum, x);
          }
        weight[band][half] = __fmaf_rn(weight[band][half], shrink, sum);
#pragma unroll
        for (int n = 0; n < kHeadDim / 8; ++n) {
          out[band][n][2 * half] = __fmul_rn(out[band][n][2 * half], shrink);
          out[band][n][2 * half + 1] = __fmul_rn(out[band][n][2 * half + 1], shrink);
        }
      }
  }

  /// out += weights * values. Weights are laid out as mma leaves scores, which is how it takes
  /// them.
  __device__ void accumulate(std::uint32_t values) {
#pragma unroll
    for (int k = 0; k < kTileKeys / 16; ++k) {
      std::uint32_t p[kBands][4];
#pragma unroll
      for (int band = 0; band < kBands; ++band) {
        const float(&low)[4] = scores[band][2 * k];
        const float(&high)[4] = scores[band][2 * k + 1];
        p[band][0] = pack<T>(low[0], low[1]);
        p[band][1] = pack<T>(low[2], low[3]);
        p[band][2] = pack<T>(high[0], high[1]);
        p[band][3] = pack<T>(high[2], high[3]);
      }
#pragma unroll
      for (int n = 0; n < kHeadDim / 16; ++n) {
        std::uint32_t value[4];
        load_transposed(value, ((values + value_lane) ^ pair(n)) + 16 * k * S::kRowBytes);
#pragma unroll
        for (int band = 0; band < kBands; ++band) {
          multiply_add<T>(out[band][2 * n], p[band], value[0], value[1]);
          multiply_add<T>(out[band][2 * n + 1], p[band], value[2], value[3]);
        }
      }
    }
  }

  /// Divides by the sums of weights and leaves the rows where the warp's queries were.
  __device__ void finish(unsigned char* queries) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int band = 0; band < kBands; ++band)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float sum = weight[band][half];
        sum += __shfl_xor_sync(kAllLanes, sum, 1);
        sum += __shfl_xor_sync(kAllLanes, sum, 2);
        const float factor = __fdividef(1.f, sum);
        const int row = first_row() + 16 * band + 8 * half + lane / 4;
#pragma unroll
        for (int n = 0; n < kHeadDim / 8; ++n)
          *reinterpret_cast<std::uint32_t*>(queries + swizzled<S::kRowBytes>(row, n) +
                                            4 * (lane % 4)) =
              pack<T>(out[band][n][2 * half] * factor, out[band][n][2 * half + 1] * factor);
      }
  }
};

template <class T, int kHeadDim>
__device__ void store_rows(const Arguments& a, const Work& work, const unsigned char* shared) {
  using S = Shared<kHeadDim>;
  constexpr int kWarpRows = 16 * kBands;
  const int first = threadIdx.x / 32 * kWarpRows;
#pragma unroll 4
  for (int i = threadIdx.x % 32; i < kWarpRows * S::kPieces; i += 32) {
    const int row = first + i / S::kPieces, piece = i % S::kPieces;
    if (!work.has_row(row)) continue;
    T* to = static_cast<T*>(a.out) +
            (work.row_token(row) * a.shape.heads + work.row_head(row)) * kHeadDim + 8 * piece;
    *reinterpret_cast<uint4*>(to) =
        *reinterpret_cast<const uint4*>(shared + swizzled<S::kRowBytes>(row, piece));
  }
}

template <class T, int kHeadDim, KvSource kSource, class Log>
__global__ __launch_bounds__(kThreads,
                             2) void prefill_attention_kernel(const __grid_constant__ Arguments a,
                                                              const Log log) {
  using S = Shared<kHeadDim>;
  extern __shared__ __align__(1024) unsigned char shared[];
  const std::uint32_t base = shared_address(shared);
  const Work work(a);
  TileLoader<T, kHeadDim, kSource, Log> loader(a, work, log);
  load_queries<T, kHeadDim>(a, work, base);
  loader.load(0, S::keys(base, 0), S::values(base, 0));
  commit_copies();

  Rows<T, kHeadDim> rows(base);
  const int tiles = work.tiles(), full_tiles = work.full_tiles();
  for (int tile = 0; tile < tiles; ++tile) {
    const int buffer = tile % 2;
    wait_copies<0>();
    __syncthreads();  // the tile is there for all, and the other buffer is no longer read
    if (tile + 1 < tiles)
      loader.load(tile + 1, S::keys(base, 1 - buffer), S::values(base, 1 - buffer));
    commit_copies();
    rows.score(S::keys(base, buffer));
    if (tile >= full_tiles) rows.mask(work, tile * kTileKeys);
    rows.soften(a.scale_log2);
    rows.accumulate(S::values(base, buffer));
  }
  __syncwarp();  // of the warp's queries, which the results replace, no lane reads any more
  rows.finish(shared);
  __syncwarp();
  store_rows<T, kHeadDim>(a, Work(a), shared);  // found again: fewer registers held in the loop
}

int log2_of_group(int group) {
  for (int shift = 0; shift < 4; ++shift)
    if (group == 1 << shift) return shift;
  throw std::invalid_argument("prefill_attention: heads / kv_heads is not 1, 2, 4 or 8");
}

template <class T, int kHeadDim, KvSource kSource, class Log>
void launch_prefill(const PrefillAttention& op, const Log& log, cudaStream_t stream) {
  constexpr float kLog2E = 1.4426950408889634f;
  KvPlaces places(op.kv);
  if (kSource == KvSource::contiguous)
    places.value_distance = std::int64_t{op.shape.kv_heads} * kHeadDim;
  const Arguments arguments = {op.shape,
                               log2_of_group(op.shape.group()),
                               op.tile_list,
                               op.query_start,
                               op.context,
                               op.qkv,
                               op.kv.arena,
                               op.kv.block_tables,
                               op.kv.table_stride,
                               op.kv.layer,
                               places,
                               op.scale * kLog2E,
                               op.out};
  const Grid grid = {
      dim3(static_cast<unsigned>(op.shape.kv_heads), static_cast<unsigned>(op.tiles)), kThreads,
      Shared<kHeadDim>::kBytes};
  launch("prefill_attention", prefill_attention_kernel<T, kHeadDim, kSource, Log>, grid, stream,
         arguments, log);
}

template <class T, int kHeadDim>
void launch_for(const PrefillAttention& op, cudaStream_t stream) {
  if (op.source == KvSource::contiguous)
    return launch_prefill<T, kHeadDim, KvSource::contiguous>(op, NoLog{}, stream);
  with_log(op.log,
           [&](auto log) { launch_prefill<T, kHeadDim, KvSource::paged>(op, log, stream); });
}

}  // namespace

int prefill_tile_tokens(const HeadShape& shape) { return kRows >> log2_of_group(shape.group()); }

std::vector<PrefillTile> prefill_tiles(const HeadShape& shape,
                                       const std::vector<std::int32_t>& query_start,
                                       const std::vector<std::int32_t>& context,
                                       const std::vector<std::int32_t>& sequences) {
  const int tokens = prefill_tile_tokens(shape);
  const auto queries = [&](std::int32_t s) {
    const auto i = static_cast<std::size_t>(s);
    return query_start[i + 1] - query_start[i];
  };
  std::vector<PrefillTile> tiles;
  for (const std::int32_t s : sequences)
    for (int first = 0; first < queries(s); first += tokens) tiles.push_back({s, first});
  const auto last_key = [&](const PrefillTile& tile) {
    return context[static_cast<std::size_t>(tile.sequence)] - queries(tile.sequence) + tile.first;
  };
  std::stable_sort(tiles.begin(), tiles.end(), [&](const PrefillTile& a, const PrefillTile& b) {
    return last_key(a) > last_key(b);
  });
  return tiles;
}

void prefill_attention(const PrefillAttention& op, cudaStream_t stream) {
  const int size = op.kv.layout.block_size;
  require(op.source == KvSource::contiguous || (size > 0 && size % 8 == 0 && size <= 1024),
          "prefill_attention: block_size is not a multiple of 8 up to 1024");
  require(op.tiles <= 65535, "prefill_attention: more than 65535 tiles");
  require(op.shape.head_dim == 64 || op.shape.head_dim == 128,
          "prefill_attention: head_dim is neither 64 nor 128");
  if (op.tiles == 0) return;
  with_16_bit(op.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (op.shape.head_dim == 64) return launch_for<T, 64>(op, stream);
    launch_for<T, 128>(op, stream);
  });
}

}  // namespace kernels::gpu
