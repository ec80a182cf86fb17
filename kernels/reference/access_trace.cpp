#include "kernels/reference/access_trace.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace kernels::reference {

AccessTrace::AccessTrace(Time time, std::vector<bool> heads)
    : time_(std::move(time)), heads_(std::move(heads)) {}

void AccessTrace::begin_step(std::uint64_t step, AccessSegments& segments,
                             std::span<const std::uint8_t> prefilled) {
  step_ = static_cast<std::uint16_t>(step);
  to_ = &segments;
  prefilled_ = prefilled;
}

void AccessTrace::begin(AccessKernel kernel, int layer, int cta) {
  SegmentHeader header = {};
  header.kernel = static_cast<std::uint8_t>(kernel);
  header.layer = static_cast<std::uint16_t>(layer);
  header.cta = static_cast<std::uint32_t>(cta);
  header.step = step_;
  header.begin_clock = header.begin_time = now();
  to_->headers.push_back(header);
}

void AccessTrace::end() {
  SegmentHeader& header = to_->headers.back();
  header.end_clock = header.end_time = now();
}

void AccessTrace::read(AccessKind kind, const Slots& slots, std::uint64_t issued) {
  add(kind, slots, issued, now());
}

void AccessTrace::wrote(AccessKind kind, const Slots& slots, std::uint64_t issued) {
  add(kind, slots, issued, issued);
}

void AccessTrace::add(AccessKind kind, const Slots& slots, std::uint64_t issued,
                      std::uint64_t until) {
  constexpr std::uint64_t kMostTicks = std::numeric_limits<std::uint32_t>::max();
  constexpr std::uint64_t kMostUnits = std::numeric_limits<std::uint16_t>::max();
  SegmentHeader& header = to_->headers.back();
  const std::uint64_t ticks = issued - header.begin_clock;
  const std::uint64_t units = (until - issued) / kDurationTicks;
  AccessRecord record = {};
  record.ticks = static_cast<std::uint32_t>(std::min(ticks, kMostTicks));
  record.duration = static_cast<std::uint16_t>(std::min(units, kMostUnits));
  record.kind = static_cast<std::uint8_t>(kind);
  const bool saturated = ticks > kMostTicks || units > kMostUnits;
  record.flags = static_cast<std::uint8_t>((prefills(slots.row) ? kPrefillAccess : 0) |
                                           (saturated ? kSaturatedAccess : 0));
  for (int byte = 0; byte < 3; ++byte)
    record.block[byte] = static_cast<std::uint8_t>(slots.block >> (8 * byte));
  record.kv_head = static_cast<std::uint8_t>(slots.kv_head);
  record.first_slot = static_cast<std::uint8_t>(slots.first);
  record.n_slots = static_cast<std::uint8_t>(slots.count);
  record.row = static_cast<std::uint16_t>(slots.row);
  to_->records.push_back(record);
  ++header.count;
}

}  // namespace kernels::reference
