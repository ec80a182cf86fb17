#pragma once
#include "kernels/device/access_log.cuh"
#include "kernels/device/prefill_wgmma_rows.cuh"

namespace kernels::gpu::prefill_wgmma {

/// What the copying warp logs of a piece of work; without a log, nothing.
template <class Log>
struct ItemLog {
  __device__ ItemLog(const Log&, const Arguments&, const Work&, int) {}
  __device__ void close() const {}
};

/// Lanes 0 to 15 hold the slots that begin in each eight tokens of the tile. A logged tile is
/// awaited before the next one's copies are issued.
template <>
struct ItemLog<RecordLog> {
  const Arguments& a;
  const Work& work;
  bool on;  // this head is logged
  WarpSegment segment;
  AccessedSlots slots;      // of this lane, in the tile on its way
  std::uint64_t issued[2];  // of that tile: keys, values

  __device__ ItemLog(const RecordLog& log, const Arguments& a, const Work& work, int item)
      : a(a),
        work(work),
        on(log.logs_head(work.kv_head)),
        segment(log, AccessKernel::prefill_attention, a.layer, item,
                static_cast<std::uint32_t>(item)) {}

  __device__ void issue(AccessKind kind) { issued[static_cast<int>(kind)] = segment.ticks(); }
  __device__ void enqueued(int tile) {
    slots = {};
    const int lane = threadIdx.x % 32, first = tile * kTileKeys + 8 * lane;
    if (!on || lane >= kTileKeys / 8 || first >= work.keys) return;
    const EightTokens found = a.places.find(work.table, first);
    if (first % kPrefillReadTile != 0 && found.slot != 0) return;  // goes on from the eight before
    const int left = static_cast<int>(a.places.block_size.divisor) - found.slot;
    const int end = min(work.keys, first - first % kPrefillReadTile + kPrefillReadTile);
    slots.block = static_cast<std::uint32_t>(found.block);
    slots.row = static_cast<std::uint16_t>(work.sequence);
    slots.kv_head = static_cast<std::uint8_t>(work.kv_head);
    slots.first = static_cast<std::uint8_t>(found.slot);
    slots.count = static_cast<std::uint8_t>(min(left, end - first));
  }
  /// The tile's keys, or values, are there.
  __device__ void arrived(AccessKind kind) {
    segment.put(kind, slots, issued[static_cast<int>(kind)], segment.ticks(), true);
  }
  __device__ void close() { segment.close(); }
};
static_assert(kTileKeys % kPrefillReadTile == 0, "as reads are cut");

}  // namespace kernels::gpu::prefill_wgmma
