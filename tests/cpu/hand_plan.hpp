#pragma once
#include <deque>
#include <initializer_list>
#include <vector>

#include "tests/cpu/served_jobs.hpp"

namespace cpu_test {

/// Hand-written steps, for backends without an engine.
class HandPlans {
 public:
  explicit HandPlans(int block_size) : block_size_(block_size) {}

  /// A request with these tokens in these blocks.
  engine::Request& request(Tokens prompt, std::vector<std::uint32_t> blocks) {
    const Tokens& tokens = prompts_.emplace_back(std::move(prompt));
    engine::Request& request = requests_.emplace_back();
    request.id = engine::RequestId{static_cast<std::uint32_t>(requests_.size() - 1)};
    request.spec.prompt = tokens;
    for (const std::uint32_t block : blocks) request.blocks.push_back(engine::BlockId{block});
    engine::hash_full_blocks(request, block_size_);
    return request;
  }

  struct Share {
    engine::Request& request;
    int first, end;  // positions to compute
    int new_blocks = 0;
  };
  const engine::StepPlan& step(std::initializer_list<Share> shares) {
    ++plan_.step;
    plan_.scheduled.clear();
    for (const Share& share : shares)
      plan_.scheduled.push_back({.request = &share.request,
                                 .kind = engine::SchedKind::running,
                                 .num_tokens = share.end - share.first,
                                 .computed_before = share.first,
                                 .num_new_blocks = share.new_blocks,
                                 .samples = share.end == share.request.num_tokens(),
                                 .decode = false});
    return plan_;
  }

 private:
  int block_size_;
  std::deque<Tokens> prompts_;
  std::deque<engine::Request> requests_;
  engine::StepPlan plan_;
};

/// `count` tokens of a small vocabulary.
inline Tokens small_tokens(int count, int first = 0) {
  Tokens all;
  for (int i = 0; i < count; ++i) all.push_back(static_cast<engine::TokenId>((first + 7 * i) % 61));
  return all;
}

}  // namespace cpu_test
