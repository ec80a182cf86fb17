#pragma once
#include <deque>
#include <map>

#include "tests/engine/support/shadow_disk.hpp"
#include "tests/engine/support/tagged_kv.hpp"
#include "workers/engine/step/block_copier.hpp"

namespace support {

/// Copies the tags of blocks when another copier reports that it has copied the blocks. Until a
/// copy is done its target holds garbage, so that reading it, or reusing its source too early, is
/// detected at the next read. Stores read their source at the last moment at which a copier may, or
/// at the first.
class ShadowCopier final : public engine::BlockCopier {
 public:
  ShadowCopier(engine::BlockCopier& timing, TaggedKv& device) : timing_(timing), device_(device) {}

  engine::CopyId submit(engine::CopyDirection direction, std::span<const engine::BlockCopy> copies,
                        engine::Nanos now) override {
    const engine::CopyId id = timing_.submit(direction, copies, now);
    Batch& batch = under_way_[id];
    batch = {direction, {copies.begin(), copies.end()}, {}};
    for (const engine::BlockCopy& copy : copies) {
      disk.require_free(copy.slot, now);
      if (reads_at_once && direction == engine::CopyDirection::store) {
        const auto tags = device_.block(copy.block);
        batch.read.insert(batch.read.end(), tags.begin(), tags.end());
      }
      spoil(target(direction, copy));
    }
    return id;
  }
  void poll(engine::Nanos now, std::vector<engine::CopyDone>& done) override {
    const std::size_t first = done.size();
    timing_.poll(now, done);
    for (std::size_t i = first; i < done.size(); ++i) {
      const auto batch = under_way_.extract(done[i].id);
      if (done[i].failed) continue;
      const auto& [direction, copies, read] = batch.mapped();
      auto early = read.begin();
      for (const engine::BlockCopy& copy : copies) {
        const auto to = target(direction, copy);
        if (!read.empty()) {
          const auto end = early + static_cast<std::ptrdiff_t>(to.size());
          std::copy(early, end, to.begin());
          early = end;
          continue;
        }
        const auto from =
            direction == engine::CopyDirection::load ? slot(copy.slot) : device_.block(copy.block);
        std::copy(from.begin(), from.end(), to.begin());
      }
    }
  }
  std::optional<engine::Nanos> next_completion() const override {
    return timing_.next_completion();
  }
  bool withdraw(engine::CopyId id, engine::Nanos now) override {
    if (!timing_.withdraw(id, now)) return false;
    under_way_.erase(id);
    return true;
  }
  void wait() override { timing_.wait(); }

  bool reads_at_once = false;
  ShadowDisk disk{[this](engine::HostSlot at) { return slot(at); }};

 private:
  struct Batch {
    engine::CopyDirection direction;
    std::vector<engine::BlockCopy> copies;
    std::vector<std::uint64_t> read{};  // for stores that read their source at once
  };
  std::span<std::uint64_t> slot(engine::HostSlot slot) {
    const auto size = device_.block(engine::BlockId{1}).size();
    const auto first = engine::index(slot) * size;
    if (host_.size() < first + size) host_.resize(first + size);
    return std::span(host_).subspan(first, size);
  }
  std::span<std::uint64_t> target(engine::CopyDirection direction, const engine::BlockCopy& copy) {
    return direction == engine::CopyDirection::load ? device_.block(copy.block) : slot(copy.slot);
  }
  void spoil(std::span<std::uint64_t> tags) {
    for (std::uint64_t& tag : tags) tag = ++rubbish_;
  }

  engine::BlockCopier& timing_;
  TaggedKv& device_;
  std::map<engine::CopyId, Batch> under_way_;
  std::vector<std::uint64_t> host_;
  std::uint64_t rubbish_ = 0;
};

}  // namespace support
