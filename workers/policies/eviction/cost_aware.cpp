// GreedyDual-Size-Frequency (Cherkasova 1998): evicts the block of least H = L + F * C. F counts
// the turns that have used the block, and C is what computing it again costs, which grows with its
// distance from the start of the context. L is the greatest H that was evicted so far, so that use
// counts less the longer it is past. All blocks have one size.
#include <algorithm>
#include <vector>

#include "workers/policies/eviction/config.hpp"

namespace policies {
namespace {

using engine::BlockId;
using engine::Nanos;
using engine::Request;

class CostAware final : public engine::EvictionRule {
 public:
  explicit CostAware(const EvictionConfig& config) : growth_(config.cost_growth) {}

  void prepare(int num_blocks, int block_size) override {
    blocks_.resize(static_cast<std::size_t>(num_blocks) + 1);
    growth_ *= block_size;
  }

  engine::EvictionRank rank(BlockId block, Nanos) const override {
    return {blocks_[index(block)].worth};
  }

  void on_registered(const Request& turn, int i) override {
    block_of(turn, i).uses = 0;
    on_hit(turn, i);
  }
  void on_hit(const Request& turn, int i) override {
    Block& block = block_of(turn, i);
    block.worth = evicted_ + ++block.uses * (1 + growth_ * i);
  }
  void on_evicted(BlockId block) override {
    evicted_ = std::max(evicted_, blocks_[index(block)].worth);
  }

 private:
  struct Block {
    int uses = 0;
    double worth = 0;
  };
  Block& block_of(const Request& turn, int i) {
    return blocks_[index(turn.blocks[static_cast<std::size_t>(i)])];
  }

  double growth_;  // of the cost, a block
  double evicted_ = 0;
  std::vector<Block> blocks_;
};

}  // namespace

RuleEntry cost_aware_rule() { return {"cost_aware", RuleEntry::makes<CostAware>}; }

}  // namespace policies
