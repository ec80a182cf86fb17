#pragma once
#include "kernels/device/access_log.cuh"
#include "kernels/device/attention.hpp"

namespace kernels::gpu {

/// What a warp of the append kernel logs; without a log, nothing.
template <class Log>
struct AppendLog {
  __device__ AppendLog(const Log&, const AppendKv&, std::uint32_t, int, int) {}
  __device__ void begin_turn(int, int) const {}
  __device__ void issue() const {}
  __device__ void wrote(int, int) const {}
  __device__ void close() const {}
};

/// A record for each key and value of the warp's heads, all of one token.
template <>
struct AppendLog<RecordLog> {
  const RecordLog& log;
  const AppendKv& op;
  std::uint32_t block;
  int row, slot;
  WarpSegment segment;
  std::uint64_t issued = 0;

  __device__ AppendLog(const RecordLog& log, const AppendKv& op, std::uint32_t block, int row,
                       int slot)
      : log(log),
        op(op),
        block(block),
        row(row),
        slot(slot),
        segment(log, AccessKernel::append, op.kv.layer,
                std::int64_t{blockIdx.x} * (blockDim.x / 32) + threadIdx.x / 32, blockIdx.x) {}

  /// Item `item` is one of `pieces` of a head; a warp's items are consecutive. Whoever takes part
  /// in a turn counts all of the warp's records in it.
  __device__ void begin_turn(int item, int pieces) {
    segment.count(logged_heads(first_head(item, pieces), end_head(item, pieces)));
  }
  __device__ void issue() { issued = segment.ticks(); }
  __device__ void wrote(int item, int pieces) {
    const int head = item / pieces, kv_head = (head - op.shape.heads) % op.shape.kv_heads;
    if (item % pieces != 0 || !log.logs_head(kv_head)) return;
    std::uint64_t until = issued;
    if (log.log.plan->fence_writes != 0) {
      __threadfence();
      until = segment.ticks();
    }
    const int first = first_head(item, pieces);
    const int of_turn = logged_heads(first, end_head(item, pieces));
    const bool value = head >= op.shape.heads + op.shape.kv_heads;
    AccessedSlots slots;
    slots.block = block;
    slots.row = static_cast<std::uint16_t>(row);
    slots.kv_head = static_cast<std::uint8_t>(kv_head);
    slots.first = static_cast<std::uint8_t>(slot);
    slots.count = 1;
    segment.store(segment.count() - of_turn + logged_heads(first, head),
                  value ? AccessKind::write_value : AccessKind::write_key, slots, issued, until,
                  log.log.plan->prefilled[row] != 0);
  }
  __device__ void close() const { segment.close(); }

 private:
  __device__ static int first_head(int item, int pieces) {
    return (item - static_cast<int>(threadIdx.x % 32)) / pieces;
  }
  __device__ int end_head(int item, int pieces) const {
    return min(op.shape.heads + 2 * op.shape.kv_heads, first_head(item, pieces) + 32 / pieces);
  }
  /// Heads of keys and of values in [first, end), of which query heads are the first.
  __device__ int logged_heads(int first, int end) const {
    int count = 0;
    for (int head = max(first, op.shape.heads); head < end; ++head)
      count += log.logs_head((head - op.shape.heads) % op.shape.kv_heads) ? 1 : 0;
    return count;
  }
};

}  // namespace kernels::gpu
