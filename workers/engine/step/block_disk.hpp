#pragma once
#include <span>

#include "workers/engine/base/clock.hpp"
#include "workers/engine/base/ids.hpp"

namespace engine {

struct DiskCopy {
  HostSlot slot;
  ContentId content;
};

/// Copies whole KV blocks between host slots and a disk, which keeps them by content. On the
/// virtual clock alone: each call says when all of its copies will be done. Until then their slots
/// must not be reused. Each direction serves its calls in order.
class BlockDisk {
 public:
  virtual ~BlockDisk() = default;
  virtual Nanos write(std::span<const DiskCopy> copies, Nanos now) = 0;
  virtual Nanos read(std::span<const DiskCopy> copies, Nanos now) = 0;
};

}  // namespace engine
