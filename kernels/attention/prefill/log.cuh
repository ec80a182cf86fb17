#pragma once
#include "kernels/attention/prefill/rows.cuh"
#include "kernels/log/device_log.cuh"

namespace kernels::gpu::prefill {

/// The parts of the kernel that log a CTA's tiles; empty without a log.
template <class Log>
struct TileLog {
  __device__ TileLog(const Log&, const Arguments&, const Work&) {}
  __device__ void close() const {}
};

/// Finds the slots that begin in the eight tokens from `first` on; false if there are none. The
/// caller sets their row.
__device__ inline bool find_slots(AccessedSlots& slots, const Arguments& a, const Work& work,
                                  int first) {
  const EightTokens found = a.places.find(work.table, first);
  if (first % kPrefillReadTile != 0 && found.slot != 0)
    return false;  // continues the previous eight
  const int left = static_cast<int>(a.places.block_size.divisor) - found.slot;
  const int end = min(work.keys, first - first % kPrefillReadTile + kPrefillReadTile);
  slots.block = static_cast<std::uint32_t>(found.block);
  slots.kv_head = static_cast<std::uint8_t>(work.kv_head);
  slots.first = static_cast<std::uint8_t>(found.slot);
  slots.count = static_cast<std::uint8_t>(min(left, end - first));
  return true;
}

/// The first warp logs for all warps, which load and wait together. Its lanes 0 to 5 hold the slots
/// that begin in each eight tokens of the tile.
template <>
struct TileLog<RecordLog> {
  const Arguments& a;
  const Work& work;
  bool on;  // this head is logged
  WarpSegment segment;
  AccessedSlots slots;      // of this lane, in the tile in flight
  std::uint64_t issued[2];  // issue times of that tile: keys, values

  __device__ TileLog(const RecordLog& log, const Arguments& a, const Work& work)
      : a(a),
        work(work),
        on(log.logs_head(work.kv_head)),
        segment(log, AccessKernel::prefill_attention, a.layer,
                std::int64_t{blockIdx.y} * gridDim.x + blockIdx.x,
                blockIdx.y * gridDim.x + blockIdx.x) {}

  __device__ void issue(AccessKind kind) { issued[static_cast<int>(kind)] = segment.ticks(); }
  __device__ void enqueued(int tile, int tiles) {
    slots = {};
    const int first = tile * kTileKeys + 8 * static_cast<int>(threadIdx.x);
    if (!on || tile >= tiles || threadIdx.x >= kTileKeys / 8 || first >= work.keys) return;
    if (find_slots(slots, a, work, first))
      slots.row = static_cast<std::uint16_t>(a.tiles[blockIdx.y].sequence);
  }
  /// The tile's keys, or values, have arrived for this thread; after this call for the whole CTA.
  __device__ void arrived(AccessKind kind) {
    __syncthreads();
    if (threadIdx.x < 32)
      segment.put(kind, slots, issued[static_cast<int>(kind)], segment.ticks(), true);
  }
  __device__ void close() {
    if (threadIdx.x < 32) segment.close();
  }
};
static_assert(kTileKeys % kPrefillReadTile == 0, "as reads are cut");

}  // namespace kernels::gpu::prefill
