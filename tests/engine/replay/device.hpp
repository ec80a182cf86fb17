#pragma once
#include <algorithm>
#include <utility>
#include <vector>

#include "workers/engine/step/block_copier.hpp"

namespace worker {

/// A device that copies in steps: what is submitted in one is found done at the end of that so many
/// steps later, whatever else is copied. A step takes two units of time, and the last is its end.
/// Waiting ends the oldest store.
class StepDevice final : public engine::BlockCopier {
 public:
  explicit StepDevice(int transfer_steps) : transfer_steps_(transfer_steps) {}

  engine::CopyId submit(engine::CopyDirection direction, std::span<const engine::BlockCopy>,
                        engine::Nanos now) override {
    copies_.push_back({engine::CopyId{++num_submitted_}, direction, now});
    return copies_.back().id;
  }
  void poll(engine::Nanos now, std::vector<engine::CopyDone>& done) override {
    for (const auto direction : {engine::CopyDirection::store, engine::CopyDirection::load}) {
      std::erase_if(copies_, [&](const Copy& copy) {
        const bool over =
            copy.direction == direction &&
            (copy.waited || copy.submitted + engine::Nanos{2 * transfer_steps_ + 1} <= now);
        if (over) done.push_back({copy.id, engine::Nanos{0}});
        return over;
      });
    }
  }
  std::optional<engine::Nanos> next_completion() const override { return std::nullopt; }
  void wait() override {
    const auto oldest = std::ranges::find_if(copies_, [](const Copy& copy) {
      return copy.direction == engine::CopyDirection::store && !copy.waited;
    });
    oldest->waited = true;
    waited_.push_back(oldest->id);
  }
  /// Copies that ended because a step waited, since the last call.
  std::vector<engine::CopyId> take_waited() { return std::exchange(waited_, {}); }

 private:
  struct Copy {
    engine::CopyId id;
    engine::CopyDirection direction;
    engine::Nanos submitted;
    bool waited = false;
  };
  int transfer_steps_;
  std::vector<Copy> copies_;
  std::vector<engine::CopyId> waited_;
  std::uint64_t num_submitted_ = 0;
};

}  // namespace worker
