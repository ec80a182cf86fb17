#pragma once
#include "kernels/device/access_log.hpp"

namespace kernels::gpu {

/// Template argument of the kernels that touch KV: nothing is logged, and no code is made for it.
struct NoLog {
  static constexpr bool kOn = false;
};

/// Template argument: every access leaves a record.
struct RecordLog {
  static constexpr bool kOn = true;
  AccessLog log;

  __device__ bool logs_head(int head) const {
    return (log.plan->heads[head / 32] >> (head % 32) & 1u) != 0;
  }
};

__device__ inline std::uint64_t clock_ticks() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(now)::"memory");
  return now;
}
__device__ inline std::uint64_t global_time() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
  return now;
}

/// Slots of one head in one block that are accessed together.
struct AccessedSlots {
  std::uint32_t block = 0;
  std::uint16_t row = 0;
  std::uint8_t kv_head = 0, first = 0, count = 0;  // none: no access
};

/// A warp's segment while it is written. Every lane holds the same, but for what it puts.
class WarpSegment {
 public:
  __device__ WarpSegment(const RecordLog& log, AccessKernel kernel, int layer, std::int64_t place,
                         std::uint32_t cta)
      : kernel_(kernel), layer_(layer), cta_(cta) {
    const AccessPlan& plan = *log.log.plan;
    const SegmentArray& array = plan.arrays[static_cast<int>(kernel)];
    at_ = reinterpret_cast<uint4*>(plan.segments + log.log.layer_slot * plan.layer_bytes +
                                   array.start + place * array.segment_bytes());
    step_ = plan.step;
    capacity_ = array.capacity;
    begin_time_ = global_time();
    begin_clock_ = clock_ticks();
  }

  /// Ticks since the segment began.
  __device__ std::uint64_t ticks() const { return clock_ticks() - begin_clock_; }

  /// Lanes with `slots.count` > 0 leave a record each; the whole warp must call this.
  __device__ void put(AccessKind kind, const AccessedSlots& slots, std::uint64_t issued,
                      std::uint64_t until, bool prefilled) {
    const unsigned writers = __ballot_sync(0xffffffffu, slots.count > 0);
    const unsigned before = writers & ((1u << threadIdx.x % 32) - 1);
    if (slots.count > 0) store(count_ + __popc(before), kind, slots, issued, until, prefilled);
    count_ += __popc(writers);
  }
  /// The record at a place that the caller counts.
  __device__ void store(int place, AccessKind kind, const AccessedSlots& slots,
                        std::uint64_t issued, std::uint64_t until, bool prefilled) const {
    if (place >= capacity_) return;  // the header's count tells
    const std::uint64_t units = (until - issued) / kDurationTicks;
    const bool saturated = issued > 0xffffffffu || units > 0xffffu;
    const std::uint32_t flags =
        (prefilled ? kPrefillAccess : 0u) | (saturated ? kSaturatedAccess : 0u);
    uint4 record;
    record.x = issued > 0xffffffffu ? 0xffffffffu : static_cast<std::uint32_t>(issued);
    record.y = (units > 0xffffu ? 0xffffu : static_cast<std::uint32_t>(units)) |
               static_cast<std::uint32_t>(kind) << 16 | flags << 24;
    record.z = (slots.block & 0xffffffu) | static_cast<std::uint32_t>(slots.kv_head) << 24;
    record.w = slots.first | static_cast<std::uint32_t>(slots.count) << 8 |
               static_cast<std::uint32_t>(slots.row) << 16;
    __stcs(at_ + 3 + place, record);
  }
  __device__ void count(int records) { count_ += records; }
  __device__ int count() const { return count_; }

  /// Writes the header; the whole warp must call this.
  __device__ void close() const {
    __syncwarp();  // no lane has an access before it that would end later
    if (threadIdx.x % 32 != 0) return;
    std::uint32_t sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    const std::uint64_t end_clock = clock_ticks(), end_time = global_time();
    const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
    const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
    const std::uint32_t what = static_cast<std::uint32_t>(kernel_) | threadIdx.x / 32 << 8 |
                               static_cast<std::uint32_t>(layer_) << 16;
    __stcs(at_, make_uint4(what, cta_, (sm & 0xffffu) | std::uint32_t{step_} << 16,
                           static_cast<std::uint32_t>(count_)));
    __stcs(at_ + 1,
           make_uint4(low(begin_clock_), high(begin_clock_), low(begin_time_), high(begin_time_)));
    __stcs(at_ + 2, make_uint4(low(end_clock), high(end_clock), low(end_time), high(end_time)));
  }

 private:
  uint4* at_;  // header, then records
  AccessKernel kernel_;
  int layer_;
  std::uint32_t cta_;
  std::uint16_t step_;
  int capacity_;
  int count_ = 0;
  std::uint64_t begin_time_, begin_clock_;
};

/// What a lane remembers of a read from its issue until the data are there.
struct PendingRead {
  AccessedSlots slots;
  std::uint64_t issued = 0;
};

}  // namespace kernels::gpu
