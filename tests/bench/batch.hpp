#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <random>
#include <vector>

#include "workers/engine/cache/config.hpp"
#include "workers/engine/step/step.hpp"

namespace worker {

/// A batch of sequences with equal prompts, and steps over all of them. Sequences share blocks only
/// if the pool is too small, and then as far apart as possible; the L2 cache may still serve some.
class Batch {
 public:
  Batch(int sequences, int context, const engine::KvConfig& kv, int vocab)
      : prompt_(static_cast<std::size_t>(context)) {
    std::mt19937 numbers(1);
    for (engine::TokenId& token : prompt_)
      token = static_cast<engine::TokenId>(numbers() % static_cast<unsigned>(vocab));
    const std::int64_t usable = kv.num_blocks - 1;
    const std::int64_t each = (context + kv.block_size - 1) / kv.block_size;
    const std::int64_t apart = std::min(each, usable / sequences);
    for (int s = 0; s < sequences; ++s) {
      engine::Request& request = requests_.emplace_back();
      request.spec.prompt = prompt_;
      for (std::int64_t i = 0; i < each; ++i)
        request.blocks.push_back(
            engine::BlockId{static_cast<std::uint32_t>(1 + (s * apart + i) % usable)});
    }
  }
  const engine::StepPlan& step(int first, bool decode) {
    plan_.scheduled.clear();
    plan_.total_tokens = 0;
    for (engine::Request& request : requests_) {
      const int tokens = request.num_tokens() - first;
      plan_.scheduled.push_back(
          {&request, engine::SchedKind::running, tokens, first, 0, true, decode});
      plan_.total_tokens += tokens;
    }
    return plan_;
  }

 private:
  std::vector<engine::TokenId> prompt_;
  std::deque<engine::Request> requests_;
  engine::StepPlan plan_;
};

}  // namespace worker
