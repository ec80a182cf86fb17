#pragma once
#include "kernels/attention/decode/heads.cuh"
#include "kernels/log/device_log.cuh"

namespace kernels::gpu::decode {

/// The parts of the kernel that log, for the kernel as a whole and for a warp's tiles; empty
/// without a log.
template <class Log>
struct KernelLog {
  __device__ explicit KernelLog(const Log&) {}
};
template <class Log, int kTiles>
struct TileLog {
  __device__ TileLog(const KernelLog<Log>&, const Arguments&) {}
  __device__ void begin(const Work&, int) const {}
  __device__ void looked_up(const Work&, const EightTokens&, int) const {}
  __device__ void end() const {}
  __device__ void write_header() const {}
};

template <>
struct KernelLog<RecordLog> : KernelSegments {
  __device__ explicit KernelLog(const RecordLog& log)
      : KernelSegments(log, AccessKernel::decode_attention) {}
};

/// `kTiles`: buffers of a warp. The lane that looked up eight tokens writes the records of the
/// slots that begin in them when the data has arrived. It prepares all that does not depend on time
/// at the lookup. When a lane looks up 16 tiles, the last ones of the previous 16 are still in
/// flight.
template <int kTiles>
struct TileLog<RecordLog, kTiles> {
  /// Records of this lane's keys and of its values.
  struct Reads {
    std::uint32_t place = 0, slots = 0;       // words of both records
    std::int32_t of_keys = 0, of_values = 0;  // positions of the records in the segment
    bool any = false;
  };
  struct Stamps {
    std::uint32_t keys, values;
  };

  const KernelLog<RecordLog>& all;
  const Arguments& a;
  bool on = false;  // the unit's head is logged
  WarpSegment segment;
  Reads latest, awaited;      // of the tiles looked up last, and of the tile awaited
  Stamps issued[kTiles - 1];  // oldest tile first
  std::uint32_t keys_there;

  __device__ TileLog(const KernelLog<RecordLog>& all, const Arguments& a) : all(all), a(a) {}
  __device__ void begin(const Work& work, int unit) {
    on = all.logs_head(work.kv_head);
    segment = WarpSegment(all, a.layer, std::int64_t{unit} * kWarps + threadIdx.x / 32,
                          static_cast<std::uint32_t>(unit));
  }

  /// Called by all lanes, each with its half of one of the 16 tiles from `tile` on.
  __device__ void looked_up(const Work& work, const EightTokens& found, int tile) {
    const unsigned lane = threadIdx.x % 32, half = lane % 2, first_of_tile = lane - half;
    const int begin = work.tile_begin(threadIdx.x / 32, tile + lane / 2), first = begin + 8 * half;
    // The second half continues the record of the first unless it is in another block.
    latest.any = on && first < work.end && (half == 0 || found.slot == 0);
    const unsigned all = __ballot_sync(kAllLanes, latest.any);
    const unsigned before = all & ((1u << first_of_tile) - 1), tiles = all >> first_of_tile & 3u;
    latest.of_keys = segment.count() + 2 * __popc(before) + static_cast<int>(tiles & half);
    latest.of_values = latest.of_keys + __popc(tiles);
    segment.count(2 * __popc(all));
    const int tokens = min(work.end, begin + kTileKeys) - first;
    const int left = static_cast<int>(a.places.block_size.divisor) - found.slot;
    AccessedSlots slots;
    slots.block = static_cast<std::uint32_t>(found.block);
    slots.row = static_cast<std::uint16_t>(work.sequence);
    slots.kv_head = static_cast<std::uint8_t>(work.kv_head);
    slots.first = static_cast<std::uint8_t>(found.slot);
    slots.count = static_cast<std::uint8_t>(min(left, tokens));
    latest.place = slots.place_word();
    latest.slots = slots.slots_word();
  }
  __device__ void next() {
#pragma unroll
    for (int i = 0; i + 1 < kTiles - 1; ++i) issued[i] = issued[i + 1];
  }
  __device__ void issue_keys() { issued[kTiles - 2].keys = segment.ticks_low(); }
  __device__ void issue_values() { issued[kTiles - 2].values = segment.ticks_low(); }

  /// The oldest tile's keys, then its values, have arrived for this lane.
  __device__ void keys_arrived() {
    __syncwarp();
    keys_there = segment.ticks_low();
  }
  __device__ void values_arrived(int tile) {
    __syncwarp();
    const std::uint64_t now = segment.ticks();
    if (tile % 16 == 0) awaited = latest;
    if (threadIdx.x % 32 / 2 != static_cast<unsigned>(tile) % 16 || !awaited.any) return;
    const bool late = now > 0xffffffffu;
    store(awaited.of_keys, AccessKind::read_key, issued[0].keys, keys_there, late);
    store(awaited.of_values, AccessKind::read_value, issued[0].values,
          static_cast<std::uint32_t>(now), late);
  }
  /// `late`: the low halves of the times overflowed.
  __device__ void store(int place, AccessKind kind, std::uint32_t from, std::uint32_t until,
                        bool late) const {
    const std::uint32_t units = (until - from) / kDurationTicks;
    const std::uint32_t saturated = late || units > 0xffffu ? kSaturatedAccess : 0u;
    const std::uint32_t duration = late ? 0u : min(units, 0xffffu);
    segment.store(place,
                  make_uint4(late ? 0xffffffffu : from,
                             duration | static_cast<std::uint32_t>(kind) << 16 | saturated << 24,
                             awaited.place, awaited.slots));
  }
  __device__ void end() { segment.end(); }
  __device__ void write_header() const { segment.write_header(); }
};
static_assert(kTileKeys == kDecodeReadTile && kRunTiles == kDecodeRunTiles &&
                  kWarps == kDecodeWarps,
              "as segments are laid out");

}  // namespace kernels::gpu::decode
