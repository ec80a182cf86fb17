#pragma once
#include "kernels/attention/prefill/wgmma_rows.cuh"
#include "kernels/log/device_log.cuh"

namespace kernels::gpu::prefill_wgmma {

/// The parts of the producer warp that log a work item; empty without a log.
template <class Log>
struct ItemLog {
  __device__ ItemLog(const Log&, const Arguments&, const Work&, int) {}
  __device__ void close() const {}
};

/// Lanes 0 to 15 hold the slots that begin in each eight tokens of the tile. With a log, a tile
/// must arrive before the next one's copies are issued.
template <>
struct ItemLog<RecordLog> {
  const Arguments& a;
  const Work& work;
  bool on;  // this head is logged
  WarpSegment segment;
  AccessedSlots slots;      // of this lane, in the tile in flight
  std::uint64_t issued[2];  // issue times of that tile: keys, values

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
    if (first % kPrefillReadTile != 0 && found.slot != 0) return;  // continues the previous eight
    const int left = static_cast<int>(a.places.block_size.divisor) - found.slot;
    const int end = min(work.keys, first - first % kPrefillReadTile + kPrefillReadTile);
    slots.block = static_cast<std::uint32_t>(found.block);
    slots.row = static_cast<std::uint16_t>(work.sequence);
    slots.kv_head = static_cast<std::uint8_t>(work.kv_head);
    slots.first = static_cast<std::uint8_t>(found.slot);
    slots.count = static_cast<std::uint8_t>(min(left, end - first));
  }
  /// The tile's keys, or values, have arrived.
  __device__ void arrived(AccessKind kind) {
    segment.put(kind, slots, issued[static_cast<int>(kind)], segment.ticks(), true);
  }
  __device__ void close() { segment.close(); }
};
static_assert(kTileKeys % kPrefillReadTile == 0, "as reads are cut");

}  // namespace kernels::gpu::prefill_wgmma
