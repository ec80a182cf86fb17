#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "workers/engine/block_pool.hpp"
#include "workers/engine/prefix_cache.hpp"
#include "workers/engine/request.hpp"

namespace engine {

struct KvConfig {
  int num_blocks = 0;   // including the null block 0
  int block_size = 16;  // tokens a block
  bool prefix_caching = true;
};

/// Blocks by what they are good for. The five add up to the usable blocks of the pool.
struct BlockCensus {
  int allocated = 0;  // referred to by a request (possibly by a pin or a copy as well)
  int pinned = 0;     // kept by pins: unevictable although nothing computes with it
  int copying = 0;    // kept by copies from or to the host alone
  int cached = 0;     // free, content reusable until evicted
  int empty = 0;      // free, no content
};

/// Content that was lost because its block was handed out again.
struct Eviction {
  BlockId block;
  JobId job;  // whose turn had registered the content
  int turn;
  JobId by_job;  // whose turn took the block
  int by_turn;
};

enum class Fit : std::uint8_t { ok, sequence_too_long, out_of_blocks };

/// Answer to an admission. When it does not fit, at least `missing_blocks` events of num_changes()
/// must happen before it can.
struct Admission {
  Fit fit = Fit::ok;
  int missing_blocks = 0;
};

/// Decides whose cached content is lost when blocks are wanted.
class EvictionOrder {
 public:
  virtual ~EvictionOrder() = default;
  /// `count` blocks with content are about to be taken from the head of the free list. May move
  /// others to it, by hand_out_next().
  virtual void before_eviction(int count) = 0;
};

/// Block tables over one pool and its prefix cache. The only code that changes the state of a
/// block.
///
/// Every allocation is all-or-nothing: it succeeds whole, or changes nothing. Blocks are registered
/// when they are scheduled to become full, before the forward pass that fills them: a request
/// admitted later in the same step shares them, because attention reads KV after it was written in
/// the same pass.
class KvCache {
 public:
  explicit KvCache(const KvConfig& config);

  int block_size() const { return config_.block_size; }
  int blocks_for(int tokens) const {
    return (tokens + config_.block_size - 1) / config_.block_size;
  }
  int num_usable() const { return pool_.num_usable(); }
  int num_free() const { return pool_.num_free(); }
  const BlockPool& pool() const { return pool_; }
  const PrefixCache& prefix_cache() const { return cache_; }
  BlockCensus census() const;
  /// Whose turn registered the content of a registered block.
  const TurnRef& owner(BlockId block) const { return owners_[index(block)]; }

  /// Longest cached prefix of the request in whole blocks, short of its last token (whose logits
  /// are needed). The span is valid until the next call.
  std::span<const BlockId> find_prefix(const Request& request);

  /// Gives a request without blocks its prefix hits and room for `new_tokens` more. With
  /// `reserved_tokens` > 0 so many tokens must fit as well, although blocks are taken for
  /// new_tokens alone.
  Admission try_admit(Request& request, std::span<const BlockId> hits, int new_tokens,
                      int reserved_tokens);

  /// Gives a request without blocks its prefix hits and blocks for `load_tokens` more that will be
  /// copied into them. These are not registered before register_loaded().
  Admission try_admit_loading(Request& request, std::span<const BlockId> hits, int load_tokens,
                              int reserved_tokens);
  /// Registers the full blocks of the request's computed tokens, whose KV has arrived.
  void register_loaded(Request& request) { register_full_blocks(request, request.num_computed); }
  /// Room for `new_tokens` more for a request that waits with loaded blocks.
  Admission try_admit_loaded(Request& request, int new_tokens, int reserved_tokens);

  /// Room for `new_tokens` beyond the computed ones of a running request.
  bool try_grow(Request& request, int new_tokens);

  /// The request's references are the caller's from now on, until release().
  std::vector<BlockId> hand_over(Request& request);
  void release(std::span<const BlockId> blocks);
  /// Drops the request's references, last block first: a prefix is useful without its tail, not the
  /// reverse.
  void release(Request& request);

  /// Blocks for `tokens` in all, of which there are enough; none is registered.
  void extend(Request& request, int tokens) { append_new_blocks(request, tokens); }
  /// Drops all but the first `num_blocks` references; what the others hold stays cached.
  void release_tail(Request& request, int num_blocks);

  /// Drops all but the first `num_blocks` references, and unregisters the blocks behind them.
  void truncate(Request& request, int num_blocks);

  /// Copies from or to the block that are under way.
  int copies(BlockId block) const { return keepers_[index(block)].copies; }
  /// A copy from or to the block is under way until end_copy(): it stays out of the free list and
  /// is not allocated.
  void begin_copy(BlockId block);
  void end_copy(BlockId block);

  /// Unregisters the blocks that the request was going to fill beyond its computed tokens. For a
  /// request that leaves the step after it was scheduled: no other may hit KV that is never
  /// computed.
  void forget_uncomputed(Request& request);

  /// A pin takes over the request's references and keeps its blocks unevictable until unpin().
  std::vector<BlockId> pin(Request& request);
  void unpin(std::span<const BlockId> blocks);

  /// From now on content is lost in this order, and blocks without content are taken before it;
  /// otherwise what was released first goes first. Borrowed.
  void set_eviction_order(EvictionOrder& order) { eviction_order_ = &order; }
  /// The free block is taken next.
  void hand_out_next(BlockId block) { pool_.hand_out_next(block); }

  /// Evictions since the last clear_evictions(), in order.
  std::span<const Eviction> evictions() const { return evictions_; }
  void clear_evictions() { evictions_.clear(); }

  /// Counts every block taken, shared, released or registered. Each such event lowers the number of
  /// blocks that a refused admission misses by one at most, so a refusal holds until enough of them
  /// have happened.
  std::uint64_t num_changes() const { return num_changes_; }

  /// Sorts the free list by block number, so that a request which allocates several gets
  /// neighbors. No effect while a block is in use.
  void restore_order();

  /// Drops all cached content; refused (false) while any block is in use.
  bool reset_prefix_cache();

  /// Leading blocks of `request` that all `holders` requests share (cascade attention's common
  /// prefix).
  int common_prefix_blocks(const Request& request, int holders) const;

  /// Walks the whole pool and throws std::logic_error where the bookkeeping contradicts itself.
  /// O(pool).
  void verify() const;

 private:
  /// References that are not a request's.
  struct Keepers {
    std::int32_t pins = 0;
    std::int32_t copies = 0;
  };
  Admission check_room(std::span<const BlockId> hits, int tokens, int reserved_tokens) const;
  void take_hits(Request& request, std::span<const BlockId> hits);
  void unregister_from(Request& request, int first_block);
  BlockId take_block(const Request& by);
  void touch(BlockId block);
  void release_block(BlockId block);
  void append_new_blocks(Request& request, int tokens);
  void register_full_blocks(Request& request, int tokens);
  bool pinned_only(BlockId block) const {
    const Keepers& kept = keepers_[index(block)];
    return kept.pins > 0 && kept.pins + kept.copies == pool_.refs(block);
  }
  bool copying_only(BlockId block) const {
    const Keepers& kept = keepers_[index(block)];
    return kept.copies > 0 && kept.copies == pool_.refs(block);
  }
  void count_kept(BlockId block, int by);

  KvConfig config_;
  BlockPool pool_;
  PrefixCache cache_;
  std::vector<TurnRef> owners_;   // by block: the turn that registered its content
  std::vector<Keepers> keepers_;  // by block
  std::vector<BlockId> hits_;
  std::vector<Eviction> evictions_;
  EvictionOrder* eviction_order_ = nullptr;
  std::uint64_t num_changes_ = 0;
  int num_cached_free_ = 0;
  int num_pinned_only_ = 0;
  int num_copying_only_ = 0;
};

}  // namespace engine
