#pragma once
#include "kernels/attention/decode/workspace.cuh"
#include "kernels/attention/kv_rows.cuh"

/// Arguments of decode attention, and the keys that each CTA and warp computes.
namespace kernels::gpu::decode {

constexpr int kWarps = 4;
constexpr int kThreads = 32 * kWarps;
constexpr int kTileKeys = 16;  // keys in a warp's tile
constexpr int kRunTiles = 2, kRunKeys = kRunTiles * kTileKeys;
constexpr int kRoundKeys = kQuarters * kRunKeys;  // a run of each quarter
/// Tiles per warp in shared memory: as many bytes of each type of KV.
constexpr int kStageBytes = 6;  // of each element
template <class Kv>
constexpr int kStages = kStageBytes / static_cast<int>(sizeof(Kv));
constexpr int kMaxGroup = 8;  // query heads that share a key head
static_assert(kWarps == kQuarters, "a warp sums a quarter of a whole split");
static_assert(decode_split_length(kMostQuartered * decode_split_length(1)) <= kWarps * kRoundKeys,
              "a quarter that is a unit has at most one run per warp");

/// Shapes and memory as in DecodeAttention (kernels/attention/attention.hpp).
struct Arguments {
  HeadShape shape;
  const void* qkv;
  const void* bias;
  const void* query_norm;
  const void* key_norm;
  float norm_eps;
  const float* rotations;  // none: qkv is rotated, and the arena has the query token
  void* arena;
  const std::int32_t* block_tables;
  int table_stride;
  int layer;
  KvPlaces places;
  float scale_log2;  // of the scores, times log2(e)
  bool early;
  void* out;
  DecodeWorkspace workspace;
};

/// The work of a CTA: some keys of one sequence for the query heads of one key head. Runs of 32
/// keys belong to a split's quarters in turn. Of a whole split each warp computes a quarter, of a
/// quarter one run.
struct Work : DecodeUnit {
  int kv_head;
  const std::int32_t* table;  // [table_stride] block ids of the sequence, device

  __device__ Work(const Arguments& a, const DecodeUnit& unit, int kv_head)
      : DecodeUnit(unit),
        kv_head(kv_head),
        table(a.block_tables + std::int64_t{unit.sequence} * a.table_stride) {}
  /// Units whose sums give the row's result.
  __device__ int parts() const { return quarter == kWhole ? splits : kQuarters * splits; }
  __device__ int part() const { return quarter == kWhole ? split : kQuarters * split + quarter; }
  /// Whether the query token is one of these keys, and must be appended.
  __device__ bool appends(const Arguments& a) const { return a.rotations && split == splits - 1; }
  /// A warp's first key.
  __device__ int first(int warp) const {
    return begin + (quarter == kWhole ? warp : quarter + kQuarters * warp) * kRunKeys;
  }
  /// Number of tiles of a warp.
  __device__ int tiles(int warp) const {
    const int keys = end - first(warp), of_run = (keys % kRoundKeys + kTileKeys - 1) / kTileKeys;
    if (keys <= 0) return 0;
    if (quarter != kWhole && keys >= kRunKeys) return kRunTiles;
    return keys / kRoundKeys * kRunTiles + min(kRunTiles, of_run);
  }
  __device__ int tile_begin(int warp, int tile) const {
    return first(warp) + tile / kRunTiles * kRoundKeys + tile % kRunTiles * kTileKeys;
  }
};

}  // namespace kernels::gpu::decode
