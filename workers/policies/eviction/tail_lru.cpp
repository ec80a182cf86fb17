// T-LRU (arXiv 2510.15152): evicts first what no turn needs to be on time. A turn meets its target
// while it recomputes at most `spare_tokens`. With a context of H tokens and a next prompt of Q
// more, tokens from H + Q - spare_tokens on may be evicted. Q is the mean of earlier turns, and 0
// for a preempted turn. The context of a job that is over may be evicted as a whole.
#include <algorithm>
#include <vector>

#include "workers/policies/eviction/config.hpp"

namespace policies {
namespace {

using engine::BlockId;
using engine::Nanos;
using engine::Request;

constexpr Parameter kSpareTokens = {
    .name = "spare_tokens",
    .least = 0,
    .most = 2147483647,
    .fallback = 4096,
    .is_whole = true,
    .unit = "tokens",
    .says =
        "Tokens that a turn may compute and still be on time: that much of the end of its "
        "context is evicted first."};

class TailLru final : public engine::EvictionRule {
 public:
  explicit TailLru(const EvictionConfig& config)
      : spare_tokens_(value_of(kSpareTokens, config.parameters)) {}

  void prepare(int num_blocks, int block_size) override {
    needed_.resize(static_cast<std::size_t>(num_blocks) + 1);
    block_size_ = block_size;
  }

  engine::EvictionRank rank(BlockId block, Nanos) const override {
    return {needed_[index(block)] ? 1.0 : 0.0};
  }

  void on_registered(const Request& turn, int i) override {
    needed_[index(turn.blocks[static_cast<std::size_t>(i)])] = true;
  }

  void on_released(const Request& turn, Nanos) override {
    const bool finished = turn.status == engine::RequestStatus::finished;
    if (finished && turn.spec.turn > 0) {
      new_tokens_ += turn.num_prompt() - turn.spec.computed_by_earlier_turns;
      ++turns_;
    }
    const double added = finished && turns_ > 0 ? new_tokens_ / turns_ : 0;
    const double needed = finished && turn.spec.last_turn
                              ? 0
                              : std::max(0.0, turn.num_tokens() + added - spare_tokens_);
    for (std::size_t i = 0; i < turn.blocks.size(); ++i)
      needed_[index(turn.blocks[i])] = static_cast<double>(i) * block_size_ < needed;
  }

 private:
  double spare_tokens_;
  int block_size_ = 0;
  double new_tokens_ = 0;     // of prompts beyond the turn before
  int turns_ = 0;             // of which these are
  std::vector<bool> needed_;  // by block
};

}  // namespace

RuleEntry tail_lru_rule() { return {"tail_lru", RuleEntry::makes<TailLru>, {kSpareTokens}}; }

}  // namespace policies
