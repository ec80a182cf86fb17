#pragma once
#include "kernels/attention/attention.hpp"
#include "kernels/log/device_log.cuh"

namespace kernels::gpu::append {

/// The parts of the append kernel that log, for the kernel as a whole and for a warp; empty without
/// a log.
template <class Log>
struct KernelLog {
  __device__ KernelLog(const Log&, int) {}
};
template <class Log>
struct AppendLog {
  __device__ AppendLog(const KernelLog<Log>&, const AppendKv&, std::uint32_t, int, int) {}
  __device__ void begin_turn(int, int) const {}
  __device__ void issue() const {}
  __device__ void wrote(int, int) const {}
  __device__ void close() const {}
};

template <>
struct KernelLog<RecordLog> : KernelSegments {
  bool prefilled;

  /// `row` is the row of the CTA's token; negative: none.
  __device__ KernelLog(const RecordLog& log, int row)
      : KernelSegments(log, AccessKernel::append),
        prefilled(row >= 0 && plan->prefilled[row] != 0) {}
};

/// Writes a record for each key and value of the warp's heads, all of one token.
template <>
struct AppendLog<RecordLog> {
  const KernelLog<RecordLog>& all;
  const AppendKv& op;
  AccessedSlots slots;
  WarpSegment segment;
  int turn = 0;  // records before the warp's current turn
  std::uint64_t issued = 0;

  __device__ AppendLog(const KernelLog<RecordLog>& all, const AppendKv& op, std::uint32_t block,
                       int row, int slot)
      : all(all),
        op(op),
        segment(all, op.kv.layer, std::int64_t{blockIdx.x} * (blockDim.x / 32) + threadIdx.x / 32,
                blockIdx.x) {
    slots.block = block;
    slots.row = static_cast<std::uint16_t>(row);
    slots.first = static_cast<std::uint8_t>(slot);
    slots.count = 1;
  }

  /// Item `item` is one of `pieces` of a head; a warp's items are consecutive. Every participating
  /// lane counts all of the warp's records in the turn.
  __device__ void begin_turn(int item, int pieces) {
    const int end =
        (item - static_cast<int>(threadIdx.x % 32)) / pieces + 32 / pieces - op.shape.heads;
    turn = segment.count();
    segment.count(logged_sides(min(max(end, 0), 2 * op.shape.kv_heads)) -
                  logged_sides(first_side(item, pieces)));
  }
  __device__ void issue() { issued = segment.ticks(); }
  __device__ void wrote(int item, int pieces) {
    const int side = item / pieces - op.shape.heads;  // head of keys, then of values
    const bool value = side >= op.shape.kv_heads;
    const int kv_head = value ? side - op.shape.kv_heads : side;
    if (item % pieces != 0 || !all.logs_head(kv_head)) return;
    slots.kv_head = static_cast<std::uint8_t>(kv_head);
    const int before = logged_sides(side) - logged_sides(first_side(item, pieces));
    segment.store(turn + before, value ? AccessKind::write_value : AccessKind::write_key, slots,
                  issued, issued, all.prefilled);
  }
  __device__ void close() { segment.close(); }

 private:
  /// The first head in the warp's turn, counted over keys, then values.
  __device__ int first_side(int item, int pieces) const {
    return max((item - static_cast<int>(threadIdx.x % 32)) / pieces - op.shape.heads, 0);
  }
  /// Number of logged heads among the first `count`, counted over keys, then values.
  __device__ int logged_sides(int count) const {
    const int kv_heads = op.shape.kv_heads;
    return count > kv_heads ? logged_heads(kv_heads) + logged_heads(count - kv_heads)
                            : logged_heads(count);
  }
  __device__ int logged_heads(int count) const {
    int logged = 0;
    for (int head = 32; head < count; head += 32) logged += __popc(all.plan->heads[head / 32 - 1]);
    const int last = count > 0 ? (count - 1) / 32 : 0, rest = count - 32 * last;
    const std::uint32_t word = last == 0 ? all.heads : all.plan->heads[last];
    return logged + __popc(rest < 32 ? word & ((1u << rest) - 1) : word);
  }
};

}  // namespace kernels::gpu::append
