#pragma once
#include "kernels/attention/prefill/log.cuh"
#include "kernels/attention/prefill/wgmma_rows.cuh"

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
    if (prefill::find_slots(slots, a, work, first))
      slots.row = static_cast<std::uint16_t>(work.sequence);
  }
  /// The tile's keys, or values, have arrived.
  __device__ void arrived(AccessKind kind) {
    segment.put(kind, slots, issued[static_cast<int>(kind)], segment.ticks(), true);
  }
  __device__ void close() { segment.close(); }
};
static_assert(kTileKeys % kPrefillReadTile == 0, "as reads are cut");

}  // namespace kernels::gpu::prefill_wgmma
