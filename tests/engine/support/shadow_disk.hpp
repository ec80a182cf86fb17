#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <stdexcept>
#include <vector>

#include "workers/engine/step/block_disk.hpp"

namespace support {

/// A disk that keeps the tags of host slots by content, and takes as long as it is told. A slot
/// that is reused before the disk is done with it is detected at the next copy over the link.
class ShadowDisk final : public engine::BlockDisk {
 public:
  using Tags = std::span<std::uint64_t>;
  using SlotOf = std::function<Tags(engine::HostSlot)>;
  explicit ShadowDisk(SlotOf host) : host_(std::move(host)) {}

  engine::Nanos write(std::span<const engine::DiskCopy> copies, engine::Nanos now) override {
    for (const engine::DiskCopy& copy : copies) {
      require_free(copy.slot, now);
      const Tags tags = host_(copy.slot);
      kept_[copy.content].assign(tags.begin(), tags.end());
      busy_[copy.slot] = now + latency;
      ++written;
    }
    return now + latency;
  }
  engine::Nanos read(std::span<const engine::DiskCopy> copies, engine::Nanos now) override {
    for (const engine::DiskCopy& copy : copies) {
      require_free(copy.slot, now);
      std::ranges::copy(kept_.at(copy.content), host_(copy.slot).begin());
      busy_[copy.slot] = now + latency;
      ++read_back;
    }
    return now + latency;
  }
  void require_free(engine::HostSlot slot, engine::Nanos now) const {
    const auto busy = busy_.find(slot);
    if (busy != busy_.end() && now < busy->second)
      throw std::logic_error("a slot is reused before the disk is done with it");
  }

  engine::Nanos latency{0};
  int written = 0, read_back = 0;  // blocks

 private:
  SlotOf host_;
  std::map<engine::ContentId, std::vector<std::uint64_t>> kept_;
  std::map<engine::HostSlot, engine::Nanos> busy_;
};

}  // namespace support
