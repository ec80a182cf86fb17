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

  __device__ void record(AccessKind kind, std::int64_t block, int layer, int kv_head, int slot,
                         int tokens) const {
    const unsigned long long at = atomicAdd(log.used, 1ull);
    if (at >= log.capacity) return;
    std::uint32_t now, sm;
    asm volatile("mov.u32 %0, %%globaltimer_lo;\n" : "=r"(now));
    asm volatile("mov.u32 %0, %%smid;\n" : "=r"(sm));
    AccessRecord record = {};
    record.nanoseconds = now;
    record.tokens = static_cast<std::uint16_t>(tokens);
    record.slot = static_cast<std::uint16_t>(slot);
    record.block = static_cast<std::uint32_t>(block);
    record.layer = static_cast<std::uint8_t>(layer);
    record.kv_head = static_cast<std::uint8_t>(kv_head);
    record.kind = static_cast<std::uint8_t>(kind);
    record.sm = static_cast<std::uint8_t>(sm);
    log.records[at] = record;
  }
};

/// Calls `call` with the log that the launcher was given, or with none.
template <class Call>
void with_log(const AccessLog* log, const Call& call) {
  if (log) return call(RecordLog{*log});
  call(NoLog{});
}

}  // namespace kernels::gpu
