#pragma once
#include <functional>
#include <map>
#include <set>

#include "tests/engine/support/scheduler_world.hpp"

namespace support {

/// A tier that has `match` tokens of every request behind the ones on the GPU. Loads complete when
/// `arrived` says so. Their data is valid up to the block that `fails_at` names, counted from the
/// request's first. It has nothing for requests in `unknown`.
class MockTier : public engine::NoTier, public engine::Connector {
 public:
  MockTier(int match, bool blocking) : match_(match), blocking_(blocking) {}

  engine::HostHit find(engine::Request& request, int gpu_tokens) override {
    if (unknown.contains(request.id)) return {};
    return {.tokens = std::min(match_, request.num_tokens() - gpu_tokens)};
  }
  void load(engine::Request& request, int gpu_blocks, int num_blocks) override {
    for (int i = 0; i < num_blocks; ++i)
      world->kv.begin_copy(request.blocks[static_cast<std::size_t>(gpu_blocks + i)]);
    loads_.push_back(
        {&request, request.blocks, gpu_blocks, num_blocks, request.num_computed_tokens});
  }
  void forget(engine::Request& request, engine::Nanos) override {
    for (Load& load : loads_)
      if (load.request == &request) load.request = nullptr;
  }
  std::span<const engine::LoadedKv> poll(engine::Nanos) override {
    done_.clear();
    if (!blocking_ && arrived) finish_loads(false);
    return done_;
  }
  std::span<const engine::LoadedKv> before_execution(const engine::StepPlan&,
                                                     engine::Clock&) override {
    done_.clear();
    if (blocking_) finish_loads(true);
    return done_;
  }
  bool busy() const override { return !loads_.empty(); }
  bool blocking() const override { return blocking_; }
  Connector* connector() override { return blocking_ ? nullptr : this; }
  void on_scheduled(const engine::StepPlan&, engine::Nanos) override {}
  void observe(engine::Nanos) override {}
  std::span<const engine::LoadedKv> make_known() override { return {}; }
  engine::Nanos wakeup() const override { return engine::Nanos::max(); }
  bool release_prefetched(engine::KvReason, engine::Nanos) override { return false; }
  int kept(engine::BlockId) const override { return 0; }

  SchedulerWorld* world = nullptr;
  bool arrived = false;
  std::map<engine::RequestId, int> fails_at;
  std::set<engine::RequestId> unknown;

 private:
  struct Load {
    engine::Request* request;
    std::vector<engine::BlockId> blocks;
    int first, count, tokens;
  };

  void finish_loads(bool failures_only) {
    for (const Load& load : loads_) {
      for (int i = 0; i < load.count; ++i)
        world->kv.end_copy(load.blocks[static_cast<std::size_t>(load.first + i)]);
      if (load.request == nullptr) continue;
      const auto bad = fails_at.find(load.request->id);
      const bool failed = bad != fails_at.end();
      const int end = failed ? bad->second : load.first + load.count;
      world->content.fill(*load.request, load.first, end - load.first);
      const int tokens = failed ? end * world->kv.block_size() : load.tokens;
      if (failed || !failures_only) done_.push_back({load.request, tokens, failed});
    }
    loads_.clear();
  }

  int match_;
  bool blocking_;
  std::vector<Load> loads_;
  std::vector<engine::LoadedKv> done_;
};

}  // namespace support
