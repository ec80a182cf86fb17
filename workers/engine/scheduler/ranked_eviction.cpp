#include "workers/engine/scheduler/ranked_eviction.hpp"

#include <ranges>

namespace engine {

RankedEviction::RankedEviction(KvCache& kv, std::shared_ptr<EvictionRule> rule)
    : kv_(kv), rule_(std::move(rule)), nodes_(static_cast<std::size_t>(kv.num_usable()) + 1) {
  rule_->prepare(kv.num_usable(), kv.block_size());
}

void RankedEviction::on_registered(const Request& request, int i) {
  const BlockId block = request.blocks[static_cast<std::size_t>(i)];
  node(block).cached = true;
  continue_from(request, i);
  rule_->on_registered(request, i);
}

void RankedEviction::on_hit(const Request& request, int i) {
  // Another block with equal content may have been evicted since.
  continue_from(request, i);
  rule_->on_hit(request, i);
}

/// The request's i-th block continues the one before it.
void RankedEviction::continue_from(const Request& request, int i) {
  Node& child = node(request.blocks[static_cast<std::size_t>(i)]);
  leave_parent(child);
  if (i == 0) return;
  const BlockId before = request.blocks[static_cast<std::size_t>(i) - 1];
  Node& parent = node(before);
  child.parent = index(before);
  child.parent_content = parent.content;
  if (++parent.children == 1) unrank(child.parent);
}

void RankedEviction::leave_parent(Node& child) {
  const std::uint32_t before = std::exchange(child.parent, 0);
  if (before == 0 || nodes_[before].content != child.parent_content) return;
  if (--nodes_[before].children == 0) rank(before);
}

void RankedEviction::on_freed(BlockId block) {
  release(block);
  if (const auto other = rule_->on_freed(block)) {
    unrank(index(*other));
    release(*other);
    rank(index(*other));
  }
  rank(index(block));
}

void RankedEviction::release(BlockId block) {
  node(block).free = true;
  node(block).released = ++releases_;
}

void RankedEviction::on_used(BlockId block) {
  node(block).free = false;
  unrank(index(block));
  rule_->on_used(block);
}

void RankedEviction::on_unregistered(BlockId block) { forget(block); }

void RankedEviction::forget(BlockId block) {
  unrank(index(block));
  Node& lost = node(block);
  leave_parent(lost);
  lost.cached = lost.free = false;
  lost.children = 0;
  ++lost.content;
}

RankedEviction::Place RankedEviction::place(std::uint32_t block) const {
  return {nodes_[block].rank.value, nodes_[block].released, block};
}

void RankedEviction::rank(std::uint32_t block) {
  Node& leaf = nodes_[block];
  if (!leaf.cached || !leaf.free || leaf.children > 0 || leaf.ranked) return;
  leaf.rank = rule_->rank(BlockId{block}, now_);
  leaf.ranked = true;
  leaves_.insert(place(block));
  if (leaf.rank.until != Nanos::max()) expiring_.emplace(leaf.rank.until, block);
}

void RankedEviction::unrank(std::uint32_t block) {
  if (!std::exchange(nodes_[block].ranked, false)) return;
  leaves_.erase(place(block));
  expiring_.erase({nodes_[block].rank.until, block});
}

void RankedEviction::rank_expired() {
  while (!expiring_.empty() && expiring_.begin()->first <= now_) {
    const std::uint32_t block = expiring_.begin()->second;
    unrank(block);
    rank(block);
  }
}

/// The block to be evicted next. Where every leaf is in use (by a copy, or by a request that has
/// another block with the content that the leaf continues), it is the one released first.
BlockId RankedEviction::next_victim() const {
  if (!leaves_.empty()) return BlockId{leaves_.begin()->block};
  BlockId block = kv_.pool().free_head();
  while (!nodes_[index(block)].cached) block = kv_.pool().next_free(block);
  return block;
}

void RankedEviction::before_eviction(int count) {
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

std::unique_ptr<EvictionOrder> make_eviction_order(const EvictionChoice& choice, KvCache& kv,
                                                   const QueueOrder& order) {
  std::unique_ptr<EvictionOrder> made;
  if (choice.rule != nullptr) made = std::make_unique<RankedEviction>(kv, choice.rule);
  if (choice.order) made = choice.order(kv, order);
  if (made) kv.set_eviction_order(*made);
  return made;
}

}  // namespace engine
