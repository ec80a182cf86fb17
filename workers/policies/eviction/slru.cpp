// Segmented LRU: KV that another turn (or another job) has found is protected, and evicted after
// all that none has. Of more protected KV than its segment has room for, what was released first
// joins the end of the others, and needs another hit to be protected again.
#include <list>
#include <vector>

#include "workers/policies/eviction/config.hpp"

namespace policies {
namespace {

using engine::BlockId;
using engine::Nanos;
using engine::Request;

constexpr Parameter kProtectedFraction = {
    .name = "protected_fraction",
    .least = 0,
    .most = 1,
    .fallback = 0.8,
    .says =
        "Share of the pool for KV with a prefix hit; beyond it, such KV counts as if it had "
        "none."};

constexpr const char* kCounted[] = {"turn", "job"};
constexpr Parameter kCounts = {
    .name = "slru_counts",
    .words = kCounted,
    .says =
        "Whether KV is protected once another turn has found it, or only once another job "
        "has."};

class Slru final : public engine::EvictionRule {
 public:
  explicit Slru(const EvictionConfig& config)
      : config_(config), counts_jobs_(word_of(kCounts, config.parameters) == "job") {}

  void prepare(int num_blocks, int) override {
    blocks_.resize(static_cast<std::size_t>(num_blocks) + 1);
    const double part = value_of(kProtectedFraction, config_.parameters);
    room_ = static_cast<std::size_t>(part * num_blocks);
  }

  engine::EvictionRank rank(BlockId block, Nanos) const override {
    return {blocks_[index(block)].found ? 1.0 : 0.0};
  }

  void on_registered(const Request& turn, int i) override {
    block_of(turn, i) = {.job = turn.spec.job, .turn = turn.spec.turn};
  }

  void on_hit(const Request& turn, int i) override {
    Block& block = block_of(turn, i);
    const bool same = block.job == turn.spec.job && (counts_jobs_ || block.turn == turn.spec.turn);
    block.found |= !same;
    block.job = turn.spec.job;
    block.turn = turn.spec.turn;
  }

  std::optional<BlockId> on_freed(BlockId block) override {
    Block& freed = blocks_[index(block)];
    if (!freed.found) return std::nullopt;
    freed.place = protected_.insert(protected_.end(), block);
    if (protected_.size() <= room_) return std::nullopt;
    const BlockId first = protected_.front();
    protected_.pop_front();
    blocks_[index(first)].found = false;
    return first;
  }

  void on_used(BlockId block) override { leave(block); }
  void on_evicted(BlockId block) override { leave(block); }

 private:
  struct Block {
    engine::JobId job{};  // that used it last, with its turn
    int turn = 0;
    bool found = false;
    std::list<BlockId>::iterator place{};  // in protected_, of a free block that was found
  };
  Block& block_of(const Request& turn, int i) {
    return blocks_[index(turn.blocks[static_cast<std::size_t>(i)])];
  }
  void leave(BlockId block) {
    if (blocks_[index(block)].found) protected_.erase(blocks_[index(block)].place);
  }

  EvictionConfig config_;
  bool counts_jobs_;  // a hit by another job protects, otherwise one by another turn
  std::size_t room_ = 0;
  std::vector<Block> blocks_;
  std::list<BlockId> protected_;  // free blocks that were found, in order of release
};

}  // namespace

RuleEntry slru_rule() { return {"slru", RuleEntry::makes<Slru>, {kProtectedFraction, kCounts}}; }

}  // namespace policies
