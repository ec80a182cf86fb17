// Attention of prompt chunks on tensor cores, after FlashAttention-2 (Dao 2023, arXiv 2307.08691).
//
// A CTA owns 128 rows. A row is a query token and one of the query heads that share a key head, so
// that a group reads its keys once. Keys are loaded in tiles of 48, from the first on,
// double-buffered with asynchronous copies. Scores, softmax (base 2) and weighted sum of a tile
// stay in registers. A row's operations depend on its position alone: tiles that a row does not see
// leave its sums bitwise unchanged, so a prompt's results do not depend on its chunks.
//
// On compute capability 9.0 the kernel of attention_wgmma.cu replaces it.
#include "kernels/attention/prefill/log.cuh"
#include "kernels/device/capability.hpp"
#include "kernels/device/launch.cuh"
#include "kernels/device/overlap.cuh"

namespace kernels::gpu {
namespace prefill {

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

/// Enqueues the copy of eight numbers. Those of one byte are widened, and stored before it returns.
template <class T, class Kv>
__device__ inline void copy_eight(std::uint32_t to, const Kv* from, bool read) {
  if constexpr (sizeof(Kv) == 1)
    store_sixteen_bytes(to, widen<T>(read ? *reinterpret_cast<const uint2*>(from) : uint2{}));
  else
    copy_async(to, from, read);
}

/// Finds tiles of keys and values and enqueues their copies. Each lane looks up eight tokens of the
/// next tile while the current one is computed, and distributes them by shuffles.
template <class T, class Kv, int kHeadDim, KvSource kSource, class Log>
struct TileLoader {
  using S = Shared<kHeadDim>;
  static constexpr int kRowsAtOnce = kThreads / S::kPieces;

  const Arguments& a;
  const Work& work;
  const Log& log;
  const Kv* keys;  // this head's; paged: slot 0 of block 0; contiguous: the sequence's first token
  std::int64_t next = 0;  // lane l: address of tokens 8 (l % 8) of the next tile to load
  TileLog<Log> logged;

  __device__ TileLoader(const Arguments& a, const Work& work, const Log& log)
      : a(a), work(work), log(log), logged(log, a, work) {
    if constexpr (kSource == KvSource::paged) {
      keys = static_cast<const Kv*>(a.arena) + a.places.head_start(work.kv_head);
    } else {
      keys = static_cast<const Kv*>(a.qkv) + work.first_key_token * a.shape.qkv_width() +
             (a.shape.heads + work.kv_head) * kHeadDim;
    }
    look_up(0);
  }

  __device__ void look_up(int tile) {
    if constexpr (kSource == KvSource::paged) {
      const int first = tile * kTileKeys + 8 * (threadIdx.x % 8);
      if (first >= work.keys) return;  // `next` is not read then
      next = a.places.find(work.table, first).element;
    }
  }

  /// Enqueues a tile's copies as one group, empty if there is no such tile. With a log, keys and
  /// values are a group each.
  __device__ void enqueue(int tile, int tiles, std::uint32_t key_tile, std::uint32_t value_tile) {
    if constexpr (Log::kOn) {
      if (tile < tiles) load_side<AccessKind::read_key>(tile, key_tile);
      commit_copies();
      if (tile < tiles) load_side<AccessKind::read_value>(tile, value_tile);
      commit_copies();
      logged.enqueued(tile, tiles);
      if (tile < tiles) look_up(tile + 1);
    } else {
      if (tile < tiles) load(tile, key_tile, value_tile);
      commit_copies();
    }
  }

  /// Waits for the tile.
  __device__ void await() {
    if constexpr (Log::kOn) {
      wait_copies<1>();
      logged.arrived(AccessKind::read_key);
      wait_copies<0>();
      logged.arrived(AccessKind::read_value);
    } else {
      wait_copies<0>();
    }
  }

  /// Enqueues the keys, or the values, of a tile.
  template <AccessKind kKind>
  __device__ void load_side(int tile, std::uint32_t to) {
    const std::int64_t distance = kKind == AccessKind::read_key ? 0 : a.places.value_distance;
    const int piece = threadIdx.x % S::kPieces;
    logged.issue(kKind);
#pragma unroll 2
    for (int i = 0; i < kTileKeys / kRowsAtOnce; ++i) {
      const int row = i * kRowsAtOnce + threadIdx.x / S::kPieces;
      copy_eight<T>(to + swizzled<S::kRowBytes>(row, piece),
                    keys + row_start(tile, row) + 8 * piece + distance,
                    tile * kTileKeys + row < work.keys);
    }
  }

  __device__ void load(int tile, std::uint32_t key_tile, std::uint32_t value_tile) {
    const int piece = threadIdx.x % S::kPieces;
#pragma unroll 2  // all at once would not leave registers enough
    for (int i = 0; i < kTileKeys / kRowsAtOnce; ++i) {
      const int row = i * kRowsAtOnce + threadIdx.x / S::kPieces;
      const bool valid = tile * kTileKeys + row < work.keys;
      const Kv* key = keys + row_start(tile, row) + 8 * piece;
      const std::uint32_t place = swizzled<S::kRowBytes>(row, piece);
      copy_eight<T>(key_tile + place, key, valid);
      copy_eight<T>(value_tile + place, key + a.places.value_distance, valid);
    }
    look_up(tile + 1);
  }

  __device__ std::int64_t row_start(int tile, int row) const {
    if constexpr (kSource == KvSource::paged)
      return __shfl_sync(kAllLanes, next, row / 8) + (row % 8) * kHeadDim;
    else
      return std::int64_t{tile * kTileKeys + row} * a.shape.qkv_width();
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

template <class T, class Kv, int kHeadDim, KvSource kSource, class Log>
__global__ __launch_bounds__(kThreads,
                             2) void prefill_attention_kernel(const __grid_constant__ Arguments a,
                                                              const Log log) {
  using S = Shared<kHeadDim>;
  extern __shared__ __align__(1024) unsigned char shared[];
  launch_dependents_and_wait();
  const std::uint32_t base = shared_address(shared);
  const Work work(a, blockIdx.x, blockIdx.y);
  TileLoader<T, Kv, kHeadDim, kSource, Log> loader(a, work, log);
  load_queries<T, kHeadDim>(a, work, base);
  loader.enqueue(0, 1, S::keys(base, 0), S::values(base, 0));

  Rows<T, kHeadDim> rows(base);
  const int tiles = (work.keys + kTileKeys - 1) / kTileKeys;
  const int full_tiles = (work.position + 1) / kTileKeys;  // tiles with keys that every row sees
  for (int tile = 0; tile < tiles; ++tile) {
    const int buffer = tile % 2;
    loader.await();
    __syncthreads();  // the tile has arrived for all, and no thread reads the other buffer
    loader.enqueue(tile + 1, tiles, S::keys(base, 1 - buffer), S::values(base, 1 - buffer));
    rows.score(S::keys(base, buffer));
    if (tile >= full_tiles) rows.mask(work, tile * kTileKeys);
    rows.softmax(a.scale_log2);
    rows.accumulate(S::values(base, buffer));
  }
  loader.logged.close();
  __syncwarp();  // no lane reads the warp's queries any more, which the results replace
  rows.finish(shared);
  __syncwarp();
  // Recomputes the work item, so that the loop holds fewer registers.
  store_rows<T, kHeadDim>(a, Work(a, blockIdx.x, blockIdx.y), shared);
}

template <class T, class Kv, int kHeadDim, KvSource kSource, class Log>
void launch_heads(const PrefillAttention& op, const Log& log, cudaStream_t stream) {
  Arguments a = arguments(op);
  if (kSource == KvSource::contiguous)
    a.places.value_distance = std::int64_t{op.shape.kv_heads} * kHeadDim;
  const Grid grid = {
      dim3(static_cast<unsigned>(op.shape.kv_heads), static_cast<unsigned>(op.tiles)), kThreads,
      Shared<kHeadDim>::kBytes};
  launch_overlapping("prefill_attention", prefill_attention_kernel<T, Kv, kHeadDim, kSource, Log>,
                     grid, stream, a, log);
}

template <KvSource kSource, class Log>
void launch(const PrefillAttention& op, const Log& log, cudaStream_t stream) {
  with_source<kSource>(op, [&](auto tag, auto of_kv) {
    using T = typename decltype(tag)::type;
    using Kv = typename decltype(of_kv)::type;
    if (op.shape.head_dim == 64) return launch_heads<T, Kv, 64, kSource>(op, log, stream);
    launch_heads<T, Kv, 128, kSource>(op, log, stream);
  });
}

}  // namespace prefill

void prefill_attention(const PrefillAttention& op, cudaStream_t stream) {
  const int size = op.kv.layout.block_size;
  require(op.source == KvSource::contiguous || (size > 0 && size % 8 == 0 && size <= 1024),
          "prefill_attention: block_size is not a multiple of 8 up to 1024", size);
  require(op.source == KvSource::paged || !op.kv.e4m3,
          "prefill_attention: rows of the projection are not e4m3");
  require(op.tiles <= 65535, "prefill_attention: more than 65535 tiles", op.tiles);
  require(op.tiles == 0 || op.tokens > 0, "prefill_attention: tiles of no tokens", op.tiles);
  require(op.shape.head_dim == 64 || op.shape.head_dim == 128,
          "prefill_attention: head_dim is neither 64 nor 128", op.shape.head_dim);
  prefill::TileRows(op.shape.group());  // throws for groups that tiles do not support
  if (op.tiles == 0) return;
  if (has_wgmma() && !op.portable) return prefill_attention_wgmma(op, stream);
  if (op.source == KvSource::contiguous)
    return prefill::launch<KvSource::contiguous>(op, NoLog{}, stream);
  with_log(op.log, [&](const auto& log) { prefill::launch<KvSource::paged>(op, log, stream); });
}

}  // namespace kernels::gpu
