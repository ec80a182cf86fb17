#pragma once
#include <cstdint>

/// Records of kernels' accesses to the KV cache: 16 bytes each, in segments that begin with a
/// header of 48 bytes. Each warp of a kernel writes its own segment, so no warp waits for another.
/// The format is the same on device and host; docs/results.md says which conclusions it
/// supports.
namespace kernels {

/// Keys and values are separate, because attention needs them at different times.
enum class AccessKind : std::uint8_t { read_key, read_value, write_key, write_value };

enum class AccessKernel : std::uint8_t { append, prefill_attention, decode_attention };

/// Bits of AccessRecord::flags.
inline constexpr std::uint8_t kPrefillAccess = 1;    // the row is prefilled
inline constexpr std::uint8_t kSaturatedAccess = 2;  // `ticks` or `duration` exceeds its field

/// Clock ticks per unit of AccessRecord::duration.
inline constexpr std::uint32_t kDurationTicks = 16;

/// One access to slots of one block, for one key head.
struct AccessRecord {
  std::uint32_t ticks;     // clock ticks from the start of the segment to the issue of the access
  std::uint16_t duration;  // in units of kDurationTicks: until the data arrived; for writes 0
  std::uint8_t kind;       // AccessKind
  std::uint8_t flags;
  std::uint8_t block[3];  // little-endian
  std::uint8_t kv_head;
  std::uint8_t first_slot;  // in the block
  std::uint8_t n_slots;
  std::uint16_t row;  // of the batch
};
static_assert(sizeof(AccessRecord) == 16, "one 16-byte store");

/// Limits of the fields of a record.
inline constexpr std::int64_t kMostLoggedBlocks = 1 << 24, kMostLoggedRows = 1 << 16;
inline constexpr int kMostLoggedSlots = 255, kMostLoggedHeads = 256;

/// One warp's share of one kernel. Both clocks are read together at both ends: `clock` counts
/// processor ticks, `time` nanoseconds, so the frequency need not be known.
struct SegmentHeader {
  std::uint8_t kernel;  // AccessKernel
  std::uint8_t warp;    // of its CTA
  std::uint16_t layer;
  std::uint32_t cta;
  std::uint16_t sm;
  std::uint16_t step;   // low bits of the step, which detect a segment of an earlier step
  std::uint32_t count;  // records
  std::uint64_t begin_clock, begin_time;
  std::uint64_t end_clock, end_time;
};
static_assert(sizeof(SegmentHeader) == 48, "three 16-byte stores");

constexpr std::uint32_t block_of(const AccessRecord& record) {
  return record.block[0] | record.block[1] << 8u |
         static_cast<std::uint32_t>(record.block[2]) << 16u;
}

}  // namespace kernels
