#pragma once
#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "workers/engine/cache/kv_cache.hpp"
#include "workers/engine/step/eviction_rule.hpp"
#include "workers/engine/step/queue_order.hpp"

namespace engine {

/// Evicts the block of least rank by a rule, of those that no cached block continues. O(log n) a
/// block that is released or evicted, n being the number of such blocks.
class RankedEviction final : public EvictionOrder {
 public:
  /// Borrows the cache.
  RankedEviction(KvCache& kv, std::shared_ptr<EvictionRule> rule);
  RankedEviction(const RankedEviction&) = delete;

  void before_eviction(int count) override;

  void on_registered(const Request& request, int i) override;
  void on_hit(const Request& request, int i) override;
  void on_freed(BlockId block) override;
  void on_used(BlockId block) override;
  void on_unregistered(BlockId block) override;

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
  Place place(std::uint32_t block) const;
  void continue_from(const Request& request, int i);
  void leave_parent(Node& child);
  void rank(std::uint32_t block);
  void unrank(std::uint32_t block);
  void release(BlockId block);
  void forget(BlockId block);
  BlockId next_victim() const;
  void rank_expired();

  KvCache& kv_;
  std::shared_ptr<EvictionRule> rule_;
  std::vector<Node> nodes_;  // by block
  std::set<Place> leaves_;   // free blocks that no cached block continues
  std::set<std::pair<Nanos, std::uint32_t>> expiring_;  // of leaves_, by when their rank ends
  std::vector<BlockId> victims_;
  std::uint64_t releases_ = 0;
  Nanos now_{0};
};

/// The order that was chosen, which becomes the cache's; null where none was. Borrows cache and
/// queue.
std::unique_ptr<EvictionOrder> make_eviction_order(const EvictionChoice& choice, KvCache& kv,
                                                   const QueueOrder& order);

}  // namespace engine
