#pragma once
#include "kernels/attention/attention.hpp"
#include "kernels/attention/kv_rows.cuh"

/// Arguments of prefill attention's kernels, and the work that a CTA derives from them.
namespace kernels::gpu::prefill {

constexpr int kRows = 128;  // rows of a tile: (query token, head in group); a group that is no
                            // power of two has rows without a head up to the next one

struct Arguments {
  HeadShape shape;
  int group_shift;  // log2 of a token's rows
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
  int group;
  int group_shift;
  std::int64_t query_token;      // the tile's first query token in the batch
  int queries;                   // tokens from there to the end of the chunk
  int position;                  // of the first query
  int keys;                      // keys that any of the rows sees
  std::int64_t first_key_token;  // contiguous: the sequence's first token in the batch
  int sequence;
  const std::int32_t* table;  // paged: the sequence's blocks

  __device__ Work(const Arguments& a, int head, int place)
      : kv_head(head), group(a.shape.group()), group_shift(a.group_shift) {
    const PrefillTile tile = a.tiles[place];
    const int start = a.query_start[tile.sequence];
    const int all_queries = a.query_start[tile.sequence + 1] - start;
    const int prior = a.context[tile.sequence] - all_queries;
    query_token = start + tile.first;
    queries = all_queries - tile.first;
    position = prior + tile.first;
    keys = min(a.context[tile.sequence], position + (kRows >> group_shift));
    first_key_token = start;
    sequence = tile.sequence;
    table = a.block_tables + std::int64_t{tile.sequence} * a.table_stride;
  }
  __device__ int first_head() const { return kv_head * group; }
  __device__ bool has_row(int row) const {
    return (row >> group_shift) < queries && place_in_group(row) < group;
  }
  __device__ std::int64_t row_token(int row) const { return query_token + (row >> group_shift); }
  __device__ int row_head(int row) const { return first_head() + place_in_group(row); }
  __device__ int place_in_group(int row) const { return row & ((1 << group_shift) - 1); }
};

/// log2 of the rows that a token has in a tile.
inline int group_shift_of(int group) {
  for (int shift = 0; group > 0 && shift < 4; ++shift)
    if (group <= 1 << shift) return shift;
  throw std::invalid_argument("prefill_attention: heads / kv_heads is not 1 to 8");
}

inline Arguments arguments(const PrefillAttention& op) {
  constexpr float kLog2E = 1.4426950408889634f;
  return {op.shape,
          group_shift_of(op.shape.group()),
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
