// Attention of single query tokens. It is bound by reading keys and values once, so the design
// keeps many bytes in flight. After FlashDecoding (Dao et al. 2023) and grouped-query attention
// (Ainslie et al. 2023, arXiv 2305.13245).
//
// A context is cut into splits by its own length alone. A persistent CTA takes units (row, split,
// key head) from a list until it is empty. Its four warps alternate over runs of two tiles of 16
// tokens, each with its own buffers of asynchronous copies, so that no warp waits for another until
// the end. KV of one byte a number is multiplied as float16 (number.cuh). The query heads of a
// group share a tile: as rows of one tensor-core product for the scores, and as columns of another
// for the weighted sums. Runs, then warps, then splits are merged in a fixed order. The CTA that
// ends last merges the splits, while the next unit's first tiles are loading. In a step of few
// splits each is cut into quarters, one per CTA. A quarter is what a warp computes of a whole
// split, so sums and their order are the same.
//
// Without an append_kv() before it, the kernel adds biases to the queries, normalizes and rotates
// them (query.cuh), and the warp with a row's last tile stores the query token's own key and value
// (own_token.cuh).
#include "kernels/attention/decode/log.cuh"
#include "kernels/attention/decode/merge.cuh"
#include "kernels/attention/decode/own_token.cuh"
#include "kernels/device/capability.hpp"
#include "kernels/device/launch.cuh"
#include "kernels/device/overlap.cuh"

namespace kernels::gpu {
namespace decode {

/// Enqueues the copies of one warp's tiles. Each lane looks up eight tokens of one of the next 16
/// tiles.
template <class Kv, int kHeadDim, class Log>
struct TileLoader {
  using Tile = decode::Tile<Kv, kHeadDim>;
  static constexpr int kStages = decode::kStages<Kv>;
  static constexpr int kRowsAtOnce = 32 / Tile::kPieces, kTurns = 8 / kRowsAtOnce;  // for 8 rows

  const Arguments& a;
  Work work;
  const Kv* keys;                // this lane's piece of its first row, for slot 0 of block 0
  std::uint32_t buffers;         // this warp's buffers
  std::uint32_t places[kTurns];  // offsets in a tile of this lane's pieces of its first 8 rows
  int warp, row;
  EightTokens found;  // lane l: half l % 2 of tile l / 2 of every 16
  TileLog<Log, kStages> logged;

  __device__ TileLoader(const Arguments& a, const KernelLog<Log>& log, const Work& work,
                        std::uint32_t base)
      : a(a),
        work(work),
        buffers(base + threadIdx.x / 32 * Shared<kHeadDim>::kWarpBytes),
        warp(threadIdx.x / 32),
        row(threadIdx.x % 32 / Tile::kPieces),
        logged(log, a) {
#pragma unroll
    for (int turn = 0; turn < kTurns; ++turn)
      places[turn] =
          swizzled<Tile::kRowBytes>(turn * kRowsAtOnce + row, threadIdx.x % Tile::kPieces);
  }

  /// Looks up this lane's first tokens of a unit.
  __device__ EightTokens first_tokens(const Work& unit) const {
    const int lane = threadIdx.x % 32;
    const int first = unit.tile_begin(warp, lane / 2) + 8 * (lane % 2);
    return first < unit.end ? a.places.find(unit.table, first) : EightTokens{};
  }
  /// Whether a unit's first tiles hold nothing that the previous kernel writes: they end before the
  /// row's last token, or are loaded without it.
  __device__ bool can_begin_early() const {
    return a.rotations || work.split < work.splits - 1 ||
           work.tile_begin(warp, kStages - 2) + kTileKeys < work.end;
  }
  /// Begins a unit, given the tokens that the lanes looked up: enqueues the copies of its first
  /// tiles.
  __device__ void begin(const Work& next, const EightTokens& tokens, int unit) {
    work = next;
    found = tokens;
    keys = static_cast<const Kv*>(a.arena) + a.places.head_start(work.kv_head) + row * kHeadDim +
           16 / sizeof(Kv) * (threadIdx.x % Tile::kPieces);
    logged.begin(work, unit);
    logged.looked_up(work, found, 0);
    const int tiles = work.tiles(warp);
#pragma unroll
    for (int tile = 0; tile < kStages - 1; ++tile) enqueue(tile, tiles);
  }

  __device__ std::uint32_t key_tile(int tile) const {
    return buffers + tile % kStages * 2 * Tile::kBytes;
  }
  __device__ std::uint32_t value_tile(int tile) const { return key_tile(tile) + Tile::kBytes; }

  /// Enqueues a tile's copies as one group, empty if there is no such tile. With a log, keys and
  /// values are a group each.
  __device__ void enqueue(int tile, int tiles) {
    if constexpr (Log::kOn) {
      logged.next();
      if (tile < tiles) {
        const Sources from = find(tile);
        logged.issue_keys();
        load<true, false>(tile, from);
        commit_copies();
        logged.issue_values();
        load<false, true>(tile, from);
        commit_copies();
      } else {
        commit_copies();
        commit_copies();
      }
    } else {
      if (tile < tiles) load<true, true>(tile, find(tile));
      commit_copies();
    }
  }

  /// Waits for the oldest tile, which is `tile`.
  __device__ void await(int tile) {
    if constexpr (Log::kOn) {
      wait_copies<2 * (kStages - 2) + 1>();
      logged.keys_arrived();
      wait_copies<2 * (kStages - 2)>();
      logged.values_arrived(tile);
    } else {
      wait_copies<kStages - 2>();
    }
  }

  /// Where the key in a row of a tile is stored. `tile`: one of the 16 looked up last. Called by
  /// all lanes, with the same arguments; of a row that the tile does not have the result means
  /// nothing.
  __device__ Kv* token(int tile, int row) const {
    const int eight = 2 * (tile % 16) + row / 8;
    return static_cast<Kv*>(a.arena) + a.places.head_start(work.kv_head) +
           __shfl_sync(kAllLanes, found.element, eight) + row % 8 * kHeadDim;
  }

  /// This lane's first pieces of a tile's keys: from tokens 0 and 8 on.
  struct Sources {
    const Kv* half[2];
  };
  __device__ Sources find(int tile) {
    if (tile > 0 && tile % 16 == 0) look_up(tile);
    Sources from;
#pragma unroll
    for (int half = 0; half < 2; ++half)
      from.half[half] = keys + __shfl_sync(kAllLanes, found.element, 2 * (tile % 16) + half);
    return from;
  }
  __device__ void look_up(int tile) {
    const int lane = threadIdx.x % 32;
    const int first = work.tile_begin(warp, tile + lane / 2) + 8 * (lane % 2);
    if (first < work.end) found = a.places.find(work.table, first);
    logged.looked_up(work, found, tile);
  }

  template <bool kKeys, bool kValues>
  __device__ void load(int tile, const Sources& from) {
    // Keys from this lane's first row on.
    const int valid = work.end - work.appends(a) - work.tile_begin(warp, tile) - row;
    const std::uint32_t to = key_tile(tile);
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int turn = 0; turn < kTurns; ++turn) {
        const Kv* key = from.half[half] + turn * kRowsAtOnce * kHeadDim;
        const std::uint32_t place = to + places[turn] + half * 8 * Tile::kRowBytes;
        const bool read = 8 * half + turn * kRowsAtOnce < valid;
        if (kKeys) copy_async(place, key, read);
        if (kValues) copy_async(place + Tile::kBytes, key + a.places.value_distance, read);
      }
  }
};

/// Computes the loader's current unit, of which `query` is loaded, up to this warp's sums.
template <bool kApart, class T, class Kv, int kHeadDim, Remaining kRemaining, class Log>
__device__ void attend(const Arguments& a, TileLoader<Kv, kHeadDim, Log>& loader,
                       Query<T, kHeadDim, kRemaining>& query, float* sums, float2* tops) {
  const int warp = threadIdx.x / 32, tiles = loader.work.tiles(warp);
  const OwnToken<T, Kv, kHeadDim, kRemaining> own(a, loader.work);
  query.prepare(a, loader.work);
  if constexpr (sizeof(Kv) == 1) query.suit_bytes();
  Heads<ProductType<T, Kv>, Kv, kHeadDim> heads(query.heads);
  for (int tile = 0; tile < tiles; ++tile) {
    loader.await(tile);
    __syncwarp();  // all lanes' copies of the tile have arrived, and no lane reads the previous one
    loader.enqueue(tile + kStages<Kv> - 1, tiles);
    if (tile == tiles - 1) {
      own.append(a, loader.key_tile(tile), loader.value_tile(tile), loader.token(tile, own.row));
      __syncwarp();
    }
    heads.add(loader.key_tile(tile), loader.value_tile(tile),
              loader.work.end - loader.work.tile_begin(warp, tile), a.scale_log2);
    if (tile % kRunTiles == kRunTiles - 1 || tile == tiles - 1) heads.end_run();
  }
  loader.logged.end();
  if (!kApart) __syncwarp();  // no lane reads the tiles any more
  heads.leave(sums, tops);
  loader.logged.write_header();
}

/// Lets the next kernel start only when the previous one has ended. So when the next launch of this
/// kernel starts, all kernels before this launch have ended (overlap.cuh).
__device__ inline void launch_dependents_after_wait() {
  wait_for_predecessor();
  launch_dependents();
}

/// A CTA's first two units are fixed; it takes each further one from the list one unit ahead, so
/// that the atomic's result arrives before it is needed. `kApart`: sums are behind the tiles
/// instead of replacing them.
template <class T, class Kv, int kHeadDim, bool kApart, Remaining kRemaining, class Log>
__global__ __launch_bounds__(kThreads, kDecodeCtas) void decode_attention_kernel(
    const __grid_constant__ Arguments a, const Log log) {
  using S = Shared<kHeadDim>;
  extern __shared__ __align__(128) unsigned char shared[];
  __shared__ float2 tops[kWarps][kMaxGroup];
  __shared__ int shared_unit;
  float* const sums = reinterpret_cast<float*>(shared + (kApart ? kWarps * S::kWarpBytes : 0));
  const DecodeWorkspace& w = a.workspace;
  const int kv_heads = a.shape.kv_heads, warp = threadIdx.x / 32;
  const KernelLog<Log> kernel_log(log);
  const bool early = !Log::kOn && a.early;
  if (!early) launch_dependents_after_wait();
  int unit = blockIdx.x, upcoming = unit + gridDim.x;
  DecodeUnit found = w.units[unit / kv_heads];  // in flight together with the count
  const int units = *w.unit_count * kv_heads;
  TileLoader<Kv, kHeadDim, Log> loader(a, kernel_log, Work(a, found, unit % kv_heads),
                                       shared_address(shared));
  EightTokens tokens;
  if (unit < units) tokens = loader.first_tokens(loader.work);
  const bool begun = early && unit < units && loader.can_begin_early();
  if (begun) loader.begin(loader.work, tokens, unit);
  if (early) launch_dependents_after_wait();
  if (unit < units && !begun) loader.begin(loader.work, tokens, unit);
  Query<T, kHeadDim, kRemaining> query;
  if (unit < units) query.load(a, loader.work);
  while (unit < units) {
    int taken = 0;
    if (threadIdx.x == 0) taken = static_cast<int>(2 * gridDim.x + atomicAdd(w.taken, 1u));
    if (upcoming < units) found = w.units[upcoming / kv_heads];
    const Work work = loader.work;
    attend<kApart>(a, loader, query, sums + warp * S::warp_sums(kApart), tops[warp]);
    const Work next(a, found, upcoming % kv_heads);
    if (upcoming < units) tokens = loader.first_tokens(next);
    if (threadIdx.x == 0) shared_unit = taken;
    __syncthreads();
    const int after = shared_unit;
    if (kApart && upcoming < units) loader.begin(next, tokens, upcoming);
    if (upcoming < units) query.load(a, next);
    const Merger<T, kHeadDim, kApart, Log> merger = {a, work, a.shape.group()};
    merger.warps(sums, tops);
    if (work.parts() > 1 && merger.last()) merger.parts(sums);
    __syncthreads();  // all sums have been read
    if (!kApart && upcoming < units) loader.begin(next, tokens, upcoming);
    unit = upcoming;
    upcoming = after;
  }
  if (threadIdx.x == 0 && atomicAdd(w.left, 1u) + 1 == gridDim.x) *w.taken = *w.left = 0;
}

template <class T, class Kv, int kHeadDim, bool kApart, Remaining kRemaining, class Log>
void launch_heads(const DecodeAttention& op, const Log& log, cudaStream_t stream) {
  constexpr float kLog2E = 1.4426950408889634f;
  const auto kernel = decode_attention_kernel<T, Kv, kHeadDim, kApart, kRemaining, Log>;
  constexpr int kBytes = Shared<kHeadDim>::bytes(kApart);
  static const int resident = resident_ctas("decode_attention", kernel, kThreads, kBytes);
  const Arguments arguments = {op.shape,
                               op.qkv,
                               op.bias,
                               op.query_norm,
                               op.key_norm,
                               op.norm_eps,
                               op.rotations,
                               op.kv.arena,
                               op.kv.block_tables,
                               op.kv.table_stride,
                               op.kv.layer,
                               KvPlaces(op.kv),
                               op.scale * kLog2E,
                               op.early,
                               op.out,
                               DecodeWorkspace::lay_out(op.workspace, op.rows, op.shape)};
  const int most = op.rows * op.shape.kv_heads * kDecodeMaxSplits;
  const Grid grid = {static_cast<unsigned>(most < resident ? most : resident), kThreads, kBytes};
  launch_overlapping("decode_attention", kernel, grid, stream, arguments, log);
}

/// Whether a CTA of the current device may have this much dynamic shared memory.
inline bool has_room(int shared_bytes) {
  constexpr int kStatic = 1024;  // more than the kernel's static shared memory
  return shared_bytes + kStatic <= most_shared_bytes();
}

template <Remaining kRemaining, class Log>
void launch_remaining(const DecodeAttention& op, const Log& log, cudaStream_t stream) {
  with_kv(op.type, op.kv.e4m3, [&](auto tag, auto of_kv) {
    using T = typename decltype(tag)::type;
    using Kv = typename decltype(of_kv)::type;
    if (op.shape.head_dim == 64) return launch_heads<T, Kv, 64, true, kRemaining>(op, log, stream);
    if (!has_room(Shared<128>::bytes(true)))
      return launch_heads<T, Kv, 128, false, kRemaining>(op, log, stream);
    launch_heads<T, Kv, 128, true, kRemaining>(op, log, stream);
  });
}

template <class Log>
void launch(const DecodeAttention& op, const Log& log, cudaStream_t stream) {
  if constexpr (!Log::kOn) {  // a logged launch follows append_kv()
    if (op.bias || op.query_norm || op.key_norm)
      return launch_remaining<Remaining::everything>(op, log, stream);
    if (op.rotations) return launch_remaining<Remaining::rotation>(op, log, stream);
  }
  launch_remaining<Remaining::nothing>(op, log, stream);
}

}  // namespace decode

void decode_attention(const DecodeAttention& op, cudaStream_t stream) {
  const int size = op.kv.layout.block_size;
  require(size > 0 && size % 8 == 0 && size <= 1024,
          "decode_attention: block_size is not a multiple of 8 up to 1024", size);
  require(op.shape.group() <= decode::kMaxGroup,
          "decode_attention: more than 8 query heads share a key head", op.shape.group());
  require(op.shape.head_dim == 64 || op.shape.head_dim == 128,
          "decode_attention: head_dim is neither 64 nor 128", op.shape.head_dim);
  require(!op.log || !op.rotations, "decode_attention: append_kv() logs what is appended");
  require(op.rotations || !(op.bias || op.query_norm || op.key_norm),
          "decode_attention: biases or norms, but nothing to rotate by");
  require(!op.log || op.whole_splits, "decode_attention: a log needs a plan of whole splits");
  if (op.rows == 0) return;
  with_log(op.log, [&](const auto& log) { decode::launch(op, log, stream); });
}

}  // namespace kernels::gpu
