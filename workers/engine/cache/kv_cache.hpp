#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "workers/engine/base/request.hpp"
#include "workers/engine/cache/block_pool.hpp"
#include "workers/engine/cache/config.hpp"
#include "workers/engine/cache/eviction_order.hpp"
#include "workers/engine/cache/prefix_cache.hpp"

namespace engine {

/// Blocks by state. The five counts add up to the usable blocks of the pool.
///
///   state      is referenced by      becomes
///   empty      nothing, no content   allocated: try_admit, try_grow, extend
///   cached     nothing, has content  allocated: by a hit, or evicted and used anew; copying:
///                                    begin_copy
///   allocated  a request             pinned: pin; copying: release during a copy; cached, or
///                                    empty without registration: release
///   pinned     pins, no request      allocated: by a hit; copying or cached: unpin
///   copying    copies alone          allocated: by a hit; cached or empty: end_copy
struct BlockCensus {
  int allocated = 0;
  int pinned = 0;
  int copying = 0;
  int cached = 0;
  int empty = 0;
};

/// Cached content that was evicted because its block was allocated again.
struct Eviction {
  BlockId block;
  JobId job;  // the job that registered the content
  int turn;
  JobId by_job;  // the job that allocated the block
  int by_turn;
};

enum class Fit : std::uint8_t { ok, sequence_too_long, out_of_blocks };

/// Answer to an admission. A request that does not fit cannot fit until num_changes() has grown by
/// at least `missing_blocks`.
struct Admission {
  Fit fit = Fit::ok;
  int missing_blocks = 0;
};

/// Block tables over one pool and its prefix cache. No other code changes the state of a block.
///
/// Every allocation is all-or-nothing. Blocks are registered when a step that fills them is
/// scheduled, before the forward pass runs. A request admitted later in the same step therefore
/// shares them: attention reads KV after the same pass has written it.
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
  /// The turn that registered the content of a registered block.
  const TurnRef& owner(BlockId block) const { return owners_[index(block)]; }

  /// Extends the request's contents to all blocks whose tokens are known.
  void number_contents(Request& request);
  /// Longest cached prefix of the request in whole blocks. Never covers the last token, because its
  /// logits are needed. The span is valid until the next call.
  std::span<const BlockId> find_prefix(Request& request);

  /// Gives a waiting request blocks for `new_tokens` beyond its computed ones, and its prefix hits
  /// if it holds no blocks. With `reserved_tokens` > 0, that many tokens must fit as well, although
  /// blocks are allocated for new_tokens alone. Leaves at least `free_blocks` free.
  Admission try_admit(Request& request, std::span<const BlockId> hits, int new_tokens,
                      int reserved_tokens, int free_blocks = 0);
  /// Like try_admit(), with the new blocks as the target of a load: they are not registered before
  /// register_loaded().
  Admission try_admit_loading(Request& request, std::span<const BlockId> hits, int new_tokens,
                              int reserved_tokens, int free_blocks = 0);
  /// Registers the full blocks of the request's computed tokens once their KV has arrived.
  void register_loaded(Request& request) {
    register_full_blocks(request, request.num_computed_tokens);
  }

  /// Registers the full blocks of the request's computed tokens, without those whose next token is
  /// in flight: their tokens were not known when they were scheduled.
  void register_applied(Request& request) {
    register_full_blocks(request, request.num_computed_tokens - request.tokens_in_flight);
  }

  /// Allocates blocks for `new_tokens` beyond the computed ones of a running request.
  bool try_grow(Request& request, int new_tokens);

  /// Moves the request's references to the caller, which must release() them.
  std::vector<BlockId> take_blocks(Request& request);
  void release(std::span<const BlockId> blocks);
  /// Drops the request's references, last block first: a prefix is useful without its tail, but a
  /// tail is useless without its prefix.
  void release(Request& request);

  /// Extends the request to blocks for `tokens` in all. Requires enough free blocks; registers
  /// none.
  void extend(Request& request, int tokens) { append_new_blocks(request, tokens); }
  /// Drops all but the first `num_blocks` references; the content of the others stays cached.
  void release_tail(Request& request, int num_blocks);

  /// Drops all but the first `num_blocks` references, and unregisters the blocks behind them.
  void truncate(Request& request, int num_blocks);

  /// Number of copies from or to the block that are in flight.
  int copies(BlockId block) const { return keepers_[index(block)].copies; }
  /// A copy from or to the block is in flight until end_copy(): the block stays out of the free
  /// list and cannot be allocated.
  void begin_copy(BlockId block);
  void end_copy(BlockId block);

  /// Unregisters the blocks that the request was going to fill beyond its computed tokens. Called
  /// for a request that leaves the step after it was scheduled: no other request may hit KV that is
  /// never computed.
  void forget_uncomputed(Request& request);

  /// A pin takes over the request's references and keeps its blocks unevictable until unpin().
  std::vector<BlockId> pin(Request& request);
  void unpin(std::span<const BlockId> blocks);

  /// Evicts content in this order, which is borrowed; else the block released first is evicted
  /// first. Sets partial_blocks_first: the order ranks content, so blocks without any go first.
  void set_eviction_order(EvictionOrder& order) {
    eviction_order_ = &order;
    config_.partial_blocks_first = true;
  }
  /// Makes the free block the next to be allocated.
  void move_to_free_head(BlockId block) { pool_.move_to_free_head(block); }

  /// Evictions since the last clear_evictions(), in order.
  std::span<const Eviction> evictions() const { return evictions_; }
  void clear_evictions() { evictions_.clear(); }

  /// Counts every block allocated, shared, released or registered. Each such event lowers the
  /// number of missing blocks of a refused admission by at most one, so a refusal holds until
  /// enough events have happened.
  std::uint64_t num_changes() const { return num_changes_; }

  /// Sorts the free list by block number, so that consecutive allocations get adjacent blocks. No
  /// effect while a block is in use.
  void restore_order();

  /// Walks the whole pool and throws std::logic_error when the bookkeeping is inconsistent.
  /// O(pool).
  void verify() const;

 private:
  /// References that do not belong to a request.
  struct Keepers {
    std::int32_t pins = 0;
    std::int32_t copies = 0;
  };
  void take_hits(Request& request, std::span<const BlockId> hits);
  void unregister_from(Request& request, int first_block);
  void evict(BlockId block, const Request& by);
  void touch(BlockId block);
  void release_block(BlockId block);
  void after_release(std::span<const BlockId> blocks);
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
  void tell_registered(const Request& request, int end);
  void tell_hits(const Request& request);
  void tell_freed(std::span<const BlockId> released);

  KvConfig config_;
  BlockPool pool_;
  PrefixCache cache_;
  std::vector<TurnRef> owners_;   // by block: the turn that registered its content
  std::vector<Keepers> keepers_;  // by block
  std::vector<BlockId> hits_;     // of the last lookup
  std::vector<Eviction> evictions_;
  EvictionOrder* eviction_order_ = nullptr;
  std::uint64_t num_changes_ = 0;
  int num_cached_free_ = 0;
  int num_pinned_only_ = 0;
  int num_copying_only_ = 0;
};

}  // namespace engine
