#pragma once
#include <cstdint>

namespace kernels::gpu {

/// Keys and values of the same tokens are always read, or written, together.
enum class AccessKind : std::uint8_t { read, write };

/// One access of a kernel to the KV of one block (or part of one) and one head.
struct AccessRecord {
  std::uint32_t nanoseconds;  // low half of %globaltimer when the data was there or was written
  std::uint16_t tokens;       // of the block, from `slot` on
  std::uint16_t slot;         // first slot in the block
  std::uint32_t block;
  std::uint8_t layer;
  std::uint8_t kv_head;
  std::uint8_t kind;  // AccessKind
  std::uint8_t sm;
};
static_assert(sizeof(AccessRecord) == 16, "one 16-byte store");

/// Where kernels put their records. Device memory; `used` counts on past `capacity`, records past
/// it are dropped.
struct AccessLog {
  AccessRecord* records = nullptr;  // [capacity]
  unsigned long long* used = nullptr;
  unsigned long long capacity = 0;
};

}  // namespace kernels::gpu
