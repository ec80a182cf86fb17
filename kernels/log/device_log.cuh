#pragma once
#include "kernels/log/device_log.hpp"

namespace kernels::gpu {

/// Template argument of the kernels that access KV: logs nothing and generates no code.
struct NoLog {
  static constexpr bool kOn = false;
};

/// Template argument: logs every access as a record.
struct RecordLog {
  static constexpr bool kOn = true;
  AccessLog log;

  __device__ bool logs_head(int head) const {
    return (log.plan->heads[head / 32] >> (head % 32) & 1u) != 0;
  }
};

/// Calls with the template argument for kernels, given the log of a launch or none.
template <class Call>
void with_log(const AccessLog* log, const Call& call) {
  if (log) return call(RecordLog{*log});
  call(NoLog{});
}

__device__ inline std::uint64_t clock_ticks() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(now)::"memory");
  return now;
}
/// The low half of clock_ticks(), at half the cost.
__device__ inline std::uint32_t clock_ticks_low() {
  std::uint32_t now;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(now)::"memory");
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

  /// The third and fourth words of a record.
  __device__ std::uint32_t place_word() const {
    return (block & 0xffffffu) | static_cast<std::uint32_t>(kv_head) << 24;
  }
  __device__ std::uint32_t slots_word() const {
    return first | static_cast<std::uint32_t>(count) << 8 | static_cast<std::uint32_t>(row) << 16;
  }
};

/// The part of the plan that a kernel's warps need. Kernels of a step may read it before they wait
/// for their predecessor, since it is written before the first of them starts.
struct KernelSegments {
  const AccessPlan* plan;
  unsigned char* first;  // segment
  std::int64_t segment_bytes;
  std::uint32_t heads;  // one bit for each of the first 32
  std::int32_t capacity;
  std::uint16_t step;
  AccessKernel kernel;

  __device__ KernelSegments(const RecordLog& log, AccessKernel kernel)
      : plan(log.log.plan), kernel(kernel) {
    const SegmentArray& array = plan->arrays[static_cast<int>(kernel)];
    first = plan->segments + log.log.layer_slot * plan->layer_bytes + array.start;
    segment_bytes = array.segment_bytes();
    heads = plan->heads[0];
    capacity = array.capacity;
    step = plan->step;
  }
  __device__ bool logs_head(int head) const {
    return ((head < 32 ? heads : plan->heads[head / 32]) >> (head % 32) & 1u) != 0;
  }
};

/// A warp's segment while it is written. All lanes hold the same state, apart from the records that
/// they put.
class WarpSegment {
 public:
  WarpSegment() = default;  // unusable until assigned
  __device__ WarpSegment(const KernelSegments& all, int layer, std::int64_t place,
                         std::uint32_t cta)
      : at_(reinterpret_cast<uint4*>(all.first + place * all.segment_bytes)),
        kernel_(all.kernel),
        layer_(layer),
        cta_(cta),
        step_(all.step),
        capacity_(all.capacity),
        begin_time_(global_time()),
        begin_clock_(clock_ticks()) {}
  __device__ WarpSegment(const RecordLog& log, AccessKernel kernel, int layer, std::int64_t place,
                         std::uint32_t cta)
      : WarpSegment(KernelSegments(log, kernel), layer, place, cta) {}

  /// Ticks since the segment began.
  __device__ std::uint64_t ticks() const { return clock_ticks() - begin_clock_; }
  /// The low half of ticks().
  __device__ std::uint32_t ticks_low() const {
    return clock_ticks_low() - static_cast<std::uint32_t>(begin_clock_);
  }

  /// Each lane with `slots.count` > 0 writes a record; the whole warp must call this.
  __device__ void put(AccessKind kind, const AccessedSlots& slots, std::uint64_t issued,
                      std::uint64_t until, bool prefilled) {
    const unsigned writers = __ballot_sync(0xffffffffu, slots.count > 0);
    const unsigned before = writers & ((1u << threadIdx.x % 32) - 1);
    if (slots.count > 0) store(count_ + __popc(before), kind, slots, issued, until, prefilled);
    count_ += __popc(writers);
  }
  /// Writes the record at a position that the caller counts.
  __device__ void store(int place, AccessKind kind, const AccessedSlots& slots,
                        std::uint64_t issued, std::uint64_t until, bool prefilled) const {
    const std::uint64_t units = (until - issued) / kDurationTicks;
    const bool saturated = issued > 0xffffffffu || units > 0xffffu;
    const std::uint32_t flags =
        (prefilled ? kPrefillAccess : 0u) | (saturated ? kSaturatedAccess : 0u);
    uint4 record;
    record.x = issued > 0xffffffffu ? 0xffffffffu : static_cast<std::uint32_t>(issued);
    record.y = (units > 0xffffu ? 0xffffu : static_cast<std::uint32_t>(units)) |
               static_cast<std::uint32_t>(kind) << 16 | flags << 24;
    record.z = slots.place_word();
    record.w = slots.slots_word();
    store(place, record);
  }
  __device__ void store(int place, const uint4& record) const {
    if (place < capacity_) __stcs(at_ + 3 + place, record);  // overflow shows in the count
  }
  __device__ void count(int records) { count_ += records; }
  __device__ int count() const { return count_; }

  /// Writes the header; the whole warp must call this.
  __device__ void close() {
    end();
    write_header();
  }
  /// Ends a record in two parts, so that the header does not delay what follows the last access.
  __device__ void end() {
    __syncwarp();  // no earlier access of any lane ends after it
    end_clock_ = clock_ticks();
    end_time_ = global_time();
  }
  __device__ void write_header() const {
    const unsigned lane = threadIdx.x % 32;
    if (lane >= 3) return;
    std::uint32_t sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
    const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
    const std::uint64_t clock = lane == 1 ? begin_clock_ : end_clock_;
    const std::uint64_t time = lane == 1 ? begin_time_ : end_time_;
    uint4 part = make_uint4(low(clock), high(clock), low(time), high(time));
    if (lane == 0)
      part = make_uint4(static_cast<std::uint32_t>(kernel_) | threadIdx.x / 32 << 8 |
                            static_cast<std::uint32_t>(layer_) << 16,
                        cta_, (sm & 0xffffu) | std::uint32_t{step_} << 16,
                        static_cast<std::uint32_t>(count_));
    __stcs(at_ + lane, part);
  }

 private:
  uint4* at_;  // header, then records
  AccessKernel kernel_;
  int layer_;
  std::uint32_t cta_;
  std::uint16_t step_;
  int capacity_;
  int count_ = 0;
  std::uint64_t begin_time_, begin_clock_, end_time_, end_clock_;
};

}  // namespace kernels::gpu
