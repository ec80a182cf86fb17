#pragma once
#include <algorithm>
#include <deque>
#include <functional>

#include "workers/engine/step/block_copier.hpp"

namespace support {

/// Copies nothing, and reports copies as done on a schedule. Each direction completes `per_poll`
/// batches per poll, but none before the `latency`-th poll after its submission.
class ScriptedCopier final : public engine::BlockCopier {
 public:
  struct Batch {
    engine::CopyId id;
    engine::CopyDirection direction;
    std::vector<engine::BlockCopy> copies;
    int age = 0;
  };

  engine::CopyId submit(engine::CopyDirection direction, std::span<const engine::BlockCopy> copies,
                        engine::Nanos) override {
    const engine::CopyId id{++num_submitted};
    batches.push_back({id, direction, {copies.begin(), copies.end()}});
    return id;
  }
  void poll(engine::Nanos, std::vector<engine::CopyDone>& done) override {
    for (Batch& batch : batches) ++batch.age;
    for (const auto direction : {engine::CopyDirection::store, engine::CopyDirection::load}) {
      for (int i = 0; i < per_poll; ++i) {
        const auto head = std::ranges::find(batches, direction, &Batch::direction);
        if (head == batches.end() || head->age < latency) break;
        done.push_back({head->id, busy, fails && fails(*head)});
        batches.erase(head);
      }
    }
  }
  std::optional<engine::Nanos> next_completion() const override { return std::nullopt; }
  void wait() override {
    for (Batch& batch : batches) batch.age = latency;
  }
  bool withdraw(engine::CopyId id, engine::Nanos) override {
    const auto batch = std::ranges::find(batches, id, &Batch::id);
    const auto first = std::ranges::find(batches, batch->direction, &Batch::direction);
    if (!can_withdraw || batch == first) return false;
    batches.erase(batch);
    return true;
  }

  /// Pending batches, "store 1>0 2>1" and "load 0>3", in order of submission.
  std::vector<std::string> pending() const {
    std::vector<std::string> all;
    for (const Batch& batch : batches) {
      const bool store = batch.direction == engine::CopyDirection::store;
      std::string text = store ? "store" : "load";
      for (const auto& [block, slot] : batch.copies) {
        const auto b = std::to_string(engine::index(block)),
                   s = std::to_string(engine::index(slot));
        text += ' ' + (store ? b + '>' + s : s + '>' + b);
      }
      all.push_back(text);
    }
    return all;
  }

  std::deque<Batch> batches;
  std::function<bool(const Batch&)> fails;
  int latency = 1;
  int per_poll = 1'000'000;
  bool can_withdraw = true;
  engine::Nanos busy{1000};
  std::uint64_t num_submitted = 0;
};

}  // namespace support
