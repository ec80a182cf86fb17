#pragma once
#include <cstddef>

#include "kernels/access_log.hpp"
#include "kernels/kv_layout.hpp"

namespace kernels::gpu {

/// Adjacent segments of equal size.
struct SegmentArray {
  std::int64_t start = 0;     // bytes, from the first segment of the layer
  std::int64_t count = 0;     // segments
  std::int32_t capacity = 0;  // records per segment

  KERNELS_HOST_DEVICE constexpr std::int64_t segment_bytes() const {
    return static_cast<std::int64_t>(sizeof(SegmentHeader)) +
           std::int64_t{capacity} * static_cast<std::int64_t>(sizeof(AccessRecord));
  }
  KERNELS_HOST_DEVICE constexpr std::int64_t end() const { return start + count * segment_bytes(); }
};

/// Positions of the segments of a step's kernels. A warp's position follows from the step's work
/// lists alone, so warps neither wait for each other nor share counters:
///   append             [token][warp of its CTA]
///   prefill_attention  [tile][key head]; one warp logs for its whole CTA
///   decode_attention   [split of the step's list][key head][warp of its CTA]
/// In device memory and written before each step, so that captured launches read the current one.
struct AccessPlan {
  unsigned char* segments = nullptr;  // [logged layers][layer_bytes], 16-byte aligned
  std::int64_t layer_bytes = 0;
  SegmentArray arrays[3];                           // by AccessKernel
  const std::uint8_t* prefilled = nullptr;          // [S] 1 for rows that are prefilled
  std::uint32_t heads[kMostLoggedHeads / 32] = {};  // one bit per key head: logged
  std::uint16_t step = 0;
};

/// Arguments of a launch: the plan, in device memory, and the index of this layer among the logged
/// ones.
struct AccessLog {
  const AccessPlan* plan = nullptr;
  std::int32_t layer_slot = 0;
};

/// The sizes of a step that determine its segments.
struct LoggedWork {
  int tokens = 0;          // rows of the append kernel, without padding
  int append_warps = 0;    // append_kv_warps()
  int append_records = 0;  // append_kv_records(): per warp
  int prefill_tiles = 0;   // paged ones
  int prefill_keys = 0;    // most keys that one of them reads
  int decode_splits = 0;   // splits of all rows
  int decode_length = 0;   // keys of the longest split
  int block_size = 0;
  int kv_heads = 0;
};

/// Keys that one warp reads at a time in decode attention. Reads of prefill attention are split at
/// multiples of the second number, whichever of its kernels runs.
constexpr int kDecodeReadTile = 16, kPrefillReadTile = 16;
/// Warps of a CTA of decode attention, and consecutive tiles of one of them.
constexpr int kDecodeWarps = 4, kDecodeRunTiles = 2;

/// Most blocks that a tile of `tile` tokens may touch: tiles and blocks both begin at multiples of
/// 8.
constexpr int blocks_in_tile(int tile, int block_size) {
  const int most = (tile + block_size - 2) / block_size + 1;
  return tile % block_size == 0 || block_size % tile == 0 ? (tile + block_size - 1) / block_size
                                                          : most;
}

/// The plan's arrays for a step; the caller sets pointers, heads and step.
inline AccessPlan lay_out_segments(const LoggedWork& work) {
  const auto tiles = [](int tokens, int tile) { return (tokens + tile - 1) / tile; };
  AccessPlan plan;
  SegmentArray& append = plan.arrays[static_cast<int>(AccessKernel::append)];
  append.count = std::int64_t{work.tokens} * work.append_warps;
  append.capacity = work.append_records;
  SegmentArray& prefill = plan.arrays[static_cast<int>(AccessKernel::prefill_attention)];
  prefill.start = append.end();
  prefill.count = std::int64_t{work.prefill_tiles} * work.kv_heads;
  prefill.capacity = 2 * tiles(work.prefill_keys, kPrefillReadTile) *
                     blocks_in_tile(kPrefillReadTile, work.block_size);
  SegmentArray& decode = plan.arrays[static_cast<int>(AccessKernel::decode_attention)];
  decode.start = prefill.end();
  decode.count = std::int64_t{work.decode_splits} * work.kv_heads * kDecodeWarps;
  constexpr int kRound = kDecodeWarps * kDecodeRunTiles * kDecodeReadTile;
  decode.capacity = 2 * kDecodeRunTiles * tiles(work.decode_length, kRound) *
                    blocks_in_tile(kDecodeReadTile, work.block_size);
  plan.layer_bytes = decode.end();
  return plan;
}

}  // namespace kernels::gpu
