#pragma once
#include "kernels/device/access_log.cuh"
#include "kernels/device/decode_heads.cuh"

namespace kernels::gpu::decode {

/// What a warp logs of its tiles; without a log, nothing.
template <class Log>
struct TileLog {
  __device__ TileLog(const Log&, const Arguments&, const Work&, int) {}
  __device__ void close() const {}
};

/// A tile touches two blocks at most. Lanes 0 to 3 each hold one of (keys, values) x (first, second
/// eight tokens), whose records they write when the data are there.
template <>
struct TileLog<RecordLog> {
  const Arguments& a;
  const Work& work;
  bool on;  // this head is logged
  WarpSegment segment;
  PendingRead pending[kStages - 1];  // the oldest tile's first
  std::uint64_t issued[2];           // of the tile that is being enqueued: keys, values

  __device__ TileLog(const RecordLog& log, const Arguments& a, const Work& work, int unit)
      : a(a),
        work(work),
        on(log.logs_head(work.kv_head)),
        segment(log, AccessKernel::decode_attention, a.layer,
                std::int64_t{unit} * kWarps + threadIdx.x / 32, static_cast<std::uint32_t>(unit)) {}

  __device__ void next() {
#pragma unroll
    for (int i = 0; i + 1 < kStages - 1; ++i) pending[i] = pending[i + 1];
    pending[kStages - 2] = {};
  }
  __device__ void issue(AccessKind kind) { issued[static_cast<int>(kind)] = segment.ticks(); }
  /// `found` as the loader's lanes hold it.
  __device__ void enqueued(const EightTokens& found, int tile) {
    const int lane = threadIdx.x % 32, half = lane % 2, holder = 2 * (tile % 16) + half;
    const int block = __shfl_sync(kAllLanes, found.block, holder);
    const int slot = __shfl_sync(kAllLanes, found.slot, holder);
    const int begin = work.tile_begin(threadIdx.x / 32, tile), first = begin + 8 * half;
    const bool begins_here = half == 0 || slot == 0;  // otherwise it goes on from the first half
    if (!on || lane >= 4 || first >= work.end || !begins_here) return;
    const int tokens = min(work.end, begin + kTileKeys) - first;
    const int left = static_cast<int>(a.places.block_size.divisor) - slot;
    PendingRead& read = pending[kStages - 2];
    read.issued = lane < 2 ? issued[0] : issued[1];  // by a choice, so that both stay in registers
    read.slots.block = static_cast<std::uint32_t>(block);
    read.slots.row = static_cast<std::uint16_t>(work.sequence);
    read.slots.kv_head = static_cast<std::uint8_t>(work.kv_head);
    read.slots.first = static_cast<std::uint8_t>(slot);
    read.slots.count = static_cast<std::uint8_t>(min(left, tokens));
  }
  /// The oldest tile's keys, or values, are there for this lane.
  __device__ void arrived(AccessKind kind) {
    __syncwarp();
    const bool mine = threadIdx.x % 32 / 2 == static_cast<unsigned>(kind);
    AccessedSlots slots = pending[0].slots;
    if (!mine) slots.count = 0;
    segment.put(kind, slots, pending[0].issued, segment.ticks(), false);
  }
  __device__ void close() const { segment.close(); }
};
static_assert(kTileKeys == kDecodeReadTile && kWarps == kDecodeWarps, "as segments are laid out");

}  // namespace kernels::gpu::decode
