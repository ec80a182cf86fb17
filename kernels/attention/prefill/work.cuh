#pragma once
#include "kernels/attention/attention.hpp"
#include "kernels/attention/kv_rows.cuh"
#include "kernels/device/launch.cuh"

/// Arguments of prefill attention's kernels, and the work that a CTA derives from them.
namespace kernels::gpu::prefill {

constexpr int kRows = 128;  // rows of a tile: (query token, head in group)
constexpr int kHalfRows = kRows / 2;

/// Which rows of a tile are of which query token. Each half has as many whole tokens as fit, and
/// then rows of none where the group does not divide 64.
struct TileRows {
  int group = 0;        // heads, and so rows, of a token
  int half_tokens = 0;  // of a half
  int reciprocal = 0;   // of the group, in units of 2^-16, rounded up: exact for rows of a half

  TileRows() = default;
  /// Throws std::invalid_argument for groups that tiles do not support.
  explicit TileRows(int group)
      : group(supported(group)),
        half_tokens(kHalfRows / group),
        reciprocal((0xffff + group) / group) {}
  __host__ __device__ int tokens() const { return 2 * half_tokens; }
  /// Rows of a half that have a token.
  __host__ __device__ int half_rows() const { return half_tokens * group; }
  __device__ bool has_token(int row) const { return row % kHalfRows < half_rows(); }
  /// Token of a row that has one, counted from the tile's first; below, its head in the group.
  __device__ int token(int row) const {
    return row / kHalfRows * half_tokens + (row % kHalfRows * reciprocal >> 16);
  }
  __device__ int head(int row) const {
    return row % kHalfRows - (row % kHalfRows * reciprocal >> 16) * group;
  }

 private:
  static int supported(int group) {
    if (group >= 1 && group <= 8) return group;
    throw std::invalid_argument("prefill_attention: heads / kv_heads is not 1 to 8");
  }
};

/// Shapes and memory as in PrefillAttention (kernels/attention/attention.hpp).
struct Arguments {
  HeadShape shape;
  TileRows rows;
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

/// The work of a CTA: the rows of one tile of queries that share a key head.
struct Work {
  int kv_head;
  TileRows rows;
  std::int64_t query_token;      // the tile's first query token in the batch
  int queries;                   // tokens from there to the end of the chunk
  int position;                  // of the first query
  int keys;                      // keys that any of the rows sees
  std::int64_t first_key_token;  // contiguous: the sequence's first token in the batch
  int sequence;
  const std::int32_t* table;  // paged: the sequence's blocks

  __device__ Work(const Arguments& a, int head, int place) : kv_head(head), rows(a.rows) {
    const PrefillTile tile = a.tiles[place];
    const int start = a.query_start[tile.sequence];
    const int all_queries = a.query_start[tile.sequence + 1] - start;
    const int prior = a.context[tile.sequence] - all_queries;
    query_token = start + tile.first;
    queries = all_queries - tile.first;
    position = prior + tile.first;
    keys = min(a.context[tile.sequence], position + rows.tokens());
    first_key_token = start;
    sequence = tile.sequence;
    table = a.block_tables + std::int64_t{tile.sequence} * a.table_stride;
  }
  __device__ int first_head() const { return kv_head * rows.group; }
  __device__ bool has_row(int row) const {
    return rows.has_token(row) && rows.token(row) < queries;
  }
  __device__ std::int64_t row_token(int row) const { return query_token + rows.token(row); }
  __device__ int row_head(int row) const { return first_head() + rows.head(row); }
};

/// Calls `call` for the types of activations and of the KV that attention reads.
template <KvSource kSource, class Call>
void with_source(const PrefillAttention& op, const Call& call) {
  if constexpr (kSource == KvSource::paged)
    with_kv(op.type, op.kv.e4m3, call);
  else
    with_16_bit(op.type, [&](auto tag) { call(tag, tag); });
}

inline Arguments arguments(const PrefillAttention& op) {
  constexpr float kLog2E = 1.4426950408889634f;
  return {op.shape,
          TileRows(op.shape.group()),
          op.tile_list,
          op.query_start,
          op.context,
          op.qkv,
          op.kv.arena,
          op.kv.block_tables,
          op.kv.table_stride,
          op.kv.layer,
          KvPlaces(op.kv),
          op.scale * kLog2E,
          op.out};
}

}  // namespace kernels::gpu::prefill

namespace kernels::gpu {

/// Slots of the workspace for parts.
int prefill_slots(int sharers);
/// The part of prefill_attention() on compute capability 9.0 (attention_wgmma.cu).
void prefill_attention_wgmma(const PrefillAttention& op, cudaStream_t stream);

}  // namespace kernels::gpu
