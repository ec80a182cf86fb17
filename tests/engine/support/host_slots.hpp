#pragma once
#include "workers/engine/cache/host_store.hpp"

namespace support {

/// Host memory as LMCache's tier uses it: content by content, and each end of a copy is a use, or
/// by ARC each look-up.
class HostSlots : public engine::HostStore {
 public:
  HostSlots(int num_slots, const engine::PrefixCache& numbers, engine::HostEviction* rule = nullptr,
            bool arc = false)
      : HostStore(num_slots, arc, rule, numbers, 0, engine::HostUses::by_look_ups) {}

  /// Takes a slot for the content, which is absent. Empty where nothing can leave.
  std::optional<engine::HostSlot> reserve(engine::ContentId content, engine::Nanos now = {}) {
    engine::HostUse use;
    const auto stored = offer({&content, 1}, 0, {}, use, now);
    return stored ? std::optional(stored->front().slot) : std::nullopt;
  }
  bool knows(engine::ContentId content) const { return find(content) != nullptr; }
  bool has(engine::ContentId content) const { return knows(content) && find(content)->readable(); }
};

}  // namespace support
