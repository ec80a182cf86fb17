#include "workers/engine/scheduler/ranked_eviction.hpp"

#include <cstdint>
#include <ranges>
#include <set>
#include <utility>
#include <vector>

namespace engine {
namespace {

/// Evicts the block of least rank by a rule, of those that no cached block continues. O(log n) a
/// block that is released or evicted, n being the number of such blocks.
class RankedEviction final : public EvictionOrder {
 public:
  /// Borrows the cache.
  RankedEviction(KvCache& kv, std::shared_ptr<EvictionRule> rule)
      : kv_(kv), rule_(std::move(rule)), nodes_(static_cast<std::size_t>(kv.num_usable()) + 1) {
    rule_->prepare(kv.num_usable(), kv.block_size());
  }

  void before_eviction(int count) override {
    rank_expired();
    victims_.clear();
    for (; count > 0; --count) {
      const BlockId victim = next_victim();
      rule_->on_evicted(victim);
      forget(victim);
      victims_.push_back(victim);
    }
    for (const BlockId victim : std::views::reverse(victims_)) kv_.move_to_free_head(victim);
  }

  void on_registered(const Request& request, int i) override {
    const BlockId block = request.blocks[static_cast<std::size_t>(i)];
    node(block).cached = true;
    continue_from(request, i);
    rule_->on_registered(request, i);
  }
  void on_hit(const Request& request, int i) override {
    // Another block with equal content may have been evicted since.
    continue_from(request, i);
    rule_->on_hit(request, i);
  }
  void on_freed(BlockId block) override {
    release(block);
    if (const auto other = rule_->on_freed(block)) {
      unrank(index(*other));
      release(*other);
      rank(index(*other));
    }
    rank(index(block));
  }
  void on_used(BlockId block) override {
    node(block).free = false;
    unrank(index(block));
    rule_->on_used(block);
  }
  void on_unregistered(BlockId block) override { forget(block); }

  void begin_step(Nanos now) override { now_ = now; }
  void on_preempted(const Request& request) override { rule_->on_released(request, now_); }
  void on_turn_finish(const Request& request, Nanos now) override {
    rule_->on_released(request, now);
  }

 private:
  /// A block in the order of eviction.
  struct Place {
    double value;
    std::uint64_t released;  // in the order of release
    std::uint32_t block;
    auto operator<=>(const Place&) const = default;
  };
  /// A block with content, and the block that it continues.
  struct Node {
    std::uint32_t parent = 0;          // 0: none
    std::uint32_t parent_content = 0;  // tells whether the parent still has that content
    std::uint32_t content = 0;         // counts what the block has held
    int children = 0;                  // cached blocks that continue it
    bool cached = false;
    bool free = false;
    bool ranked = false;
    std::uint64_t released = 0;
    EvictionRank rank;
  };
  Node& node(BlockId block) { return nodes_[index(block)]; }
  Place place(std::uint32_t block) const {
    return {nodes_[block].rank.value, nodes_[block].released, block};
  }
  /// The request's i-th block continues the one before it.
  void continue_from(const Request& request, int i) {
    Node& child = node(request.blocks[static_cast<std::size_t>(i)]);
    leave_parent(child);
    if (i == 0) return;
    const BlockId before = request.blocks[static_cast<std::size_t>(i) - 1];
    Node& parent = node(before);
    child.parent = index(before);
    child.parent_content = parent.content;
    if (++parent.children == 1) unrank(child.parent);
  }
  void leave_parent(Node& child) {
    const std::uint32_t before = std::exchange(child.parent, 0);
    if (before == 0 || nodes_[before].content != child.parent_content) return;
    if (--nodes_[before].children == 0) rank(before);
  }
  void rank(std::uint32_t block) {
    Node& leaf = nodes_[block];
    if (!leaf.cached || !leaf.free || leaf.children > 0 || leaf.ranked) return;
    leaf.rank = rule_->rank(BlockId{block}, now_);
    leaf.ranked = true;
    leaves_.insert(place(block));
    if (leaf.rank.until != Nanos::max()) expiring_.emplace(leaf.rank.until, block);
  }
  void unrank(std::uint32_t block) {
    if (!std::exchange(nodes_[block].ranked, false)) return;
    leaves_.erase(place(block));
    expiring_.erase({nodes_[block].rank.until, block});
  }
  void release(BlockId block) {
    node(block).free = true;
    node(block).released = ++releases_;
  }
  void forget(BlockId block) {
    unrank(index(block));
    Node& lost = node(block);
    leave_parent(lost);
    lost.cached = lost.free = false;
    lost.children = 0;
    ++lost.content;
  }
  /// The block to be evicted next. Where every leaf is in use (by a copy, or by a request that has
  /// another block with the content that the leaf continues), it is the one released first.
  BlockId next_victim() const {
    if (!leaves_.empty()) return BlockId{leaves_.begin()->block};
    BlockId block = kv_.pool().free_head();
    while (!nodes_[index(block)].cached) block = kv_.pool().next_free(block);
    return block;
  }
  void rank_expired() {
    while (!expiring_.empty() && expiring_.begin()->first <= now_) {
      const std::uint32_t block = expiring_.begin()->second;
      unrank(block);
      rank(block);
    }
  }

  KvCache& kv_;
  std::shared_ptr<EvictionRule> rule_;
  std::vector<Node> nodes_;  // by block
  std::set<Place> leaves_;   // free blocks that no cached block continues
  std::set<std::pair<Nanos, std::uint32_t>> expiring_;  // of leaves_, by when their rank ends
  std::vector<BlockId> victims_;
  std::uint64_t releases_ = 0;
  Nanos now_{0};
};

}  // namespace

std::unique_ptr<EvictionOrder> make_eviction_order(const EvictionChoice& choice, KvCache& kv,
                                                   const QueueOrder& order) {
  std::unique_ptr<EvictionOrder> made;
  if (choice.rule != nullptr) made = std::make_unique<RankedEviction>(kv, choice.rule);
  if (choice.order) made = choice.order(kv, order);
  if (made) kv.set_eviction_order(*made);
  return made;
}

}  // namespace engine
