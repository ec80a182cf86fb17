#include "workers/engine/cache/kv_cache.hpp"

#include <algorithm>
#include <cassert>
#include <ranges>
#include <stdexcept>
#include <string>

namespace engine {

KvCache::KvCache(const KvConfig& config)
    : config_(config),
      pool_(config.num_blocks),
      cache_(config.num_blocks),
      owners_(static_cast<std::size_t>(config.num_blocks)),
      keepers_(static_cast<std::size_t>(config.num_blocks)) {
  evictions_.reserve(1024);
}

BlockCensus KvCache::census() const {
  const int free = pool_.num_free();
  return {.allocated = pool_.num_usable() - free - num_pinned_only_ - num_copying_only_,
          .pinned = num_pinned_only_,
          .copying = num_copying_only_,
          .cached = num_cached_free_,
          .empty = free - num_cached_free_};
}

std::span<const BlockId> KvCache::find_prefix(Request& request) {
  hits_.clear();
  if (!config_.prefix_caching) return {};
  number_contents(request);
  const int most = (request.num_tokens() - 1) / config_.block_size;
  while (static_cast<int>(hits_.size()) < most) {
    const auto block = cache_.find(request.contents[hits_.size()]);
    if (!block) break;
    hits_.push_back(*block);
  }
  return hits_;
}

void KvCache::number_contents(Request& request) {
  const auto hashes = request.block_hashes();
  const int most_tokens = request.num_prompt() + request.spec.max_tokens;
  const auto most_blocks = request.spec.known_hashes.empty()
                               ? static_cast<std::size_t>(most_tokens / config_.block_size)
                               : hashes.size();
  // At once, so that no later step allocates; not on arrival, since thousands of requests may wait.
  request.contents.reserve(most_blocks);
  cache_.number_contents(request.contents, hashes, most_blocks);
}

Admission KvCache::try_admit(Request& request, std::span<const BlockId> hits, int new_tokens,
                             int reserved_tokens, int free_blocks) {
  const Admission answer =
      try_admit_loading(request, hits, new_tokens, reserved_tokens, free_blocks);
  if (answer.fit != Fit::ok) return answer;
  const int tokens =
      request.num_computed_tokens + static_cast<int>(hits.size()) * config_.block_size + new_tokens;
  register_full_blocks(request, std::min(tokens, request.num_tokens()));
  return answer;
}

Admission KvCache::try_admit_loading(Request& request, std::span<const BlockId> hits,
                                     int new_tokens, int reserved_tokens, int free_blocks) {
  assert(new_tokens > 0 && (request.blocks.empty() || hits.empty()));
  const int tokens =
      request.num_computed_tokens + static_cast<int>(hits.size()) * config_.block_size + new_tokens;
  const auto have = static_cast<int>(request.blocks.size() + hits.size());
  // Hits in the free list are counted as free, and touching them makes them unavailable.
  const auto free_hits = static_cast<int>(
      std::ranges::count_if(hits, [&](BlockId block) { return pool_.refs(block) == 0; }));
  const int free = pool_.num_free();
  const int for_sequence = std::max(0, blocks_for(reserved_tokens) - have) + free_hits;
  if (reserved_tokens > 0 && for_sequence > free)
    return {Fit::sequence_too_long, for_sequence - free};
  const int for_chunk = blocks_for(tokens) - have + free_hits + free_blocks;
  if (for_chunk > free) return {Fit::out_of_blocks, for_chunk - free};
  if (request.blocks.empty()) take_hits(request, hits);
  append_new_blocks(request, tokens);
  return {};
}

void KvCache::take_hits(Request& request, std::span<const BlockId> hits) {
  // At once, as above.
  request.blocks.reserve(
      static_cast<std::size_t>(blocks_for(request.num_prompt() + request.spec.max_tokens)));
  for (const BlockId hit : hits) {
    touch(hit);
    request.blocks.push_back(hit);
  }
  if (eviction_order_ != nullptr) tell_hits(request);
  request.num_hashed_blocks = static_cast<int>(hits.size());
}

bool KvCache::try_grow(Request& request, int new_tokens) {
  const int tokens = request.num_computed_tokens + new_tokens;
  if (blocks_for(tokens) - static_cast<int>(request.blocks.size()) > pool_.num_free()) return false;
  append_new_blocks(request, tokens);
  register_full_blocks(request, std::min(tokens, request.num_tokens()));
  return true;
}

void KvCache::append_new_blocks(Request& request, int tokens) {
  if (eviction_order_ != nullptr) {
    const int wanted = blocks_for(tokens) - static_cast<int>(request.blocks.size());
    const int evicted = wanted - (pool_.num_free() - num_cached_free_);
    if (evicted > 0) eviction_order_->before_eviction(evicted);
  }
  const int missing = blocks_for(tokens) - static_cast<int>(request.blocks.size());
  if (missing <= 0) return;
  // The tables of a large pool exceed a core's caches.
  constexpr int kAhead = 6;
  BlockId ahead = pool_.free_head();
  for (int i = 0; i < kAhead; ++i) ahead = pool_.next_free(ahead);
  pool_.take(missing, [&](BlockId block) {
    cache_.prefetch(ahead);
    ahead = pool_.next_free(ahead);
    if (cache_.contains(block)) evict(block, request);
    request.blocks.push_back(block);
  });
  num_changes_ += static_cast<std::uint64_t>(missing);
}

/// Forgets the content of a block that was allocated for the request.
void KvCache::evict(BlockId block, const Request& by) {
  const TurnRef& owner = owners_[index(block)];
  evictions_.push_back({block, owner.job, owner.turn, by.spec.job, by.spec.turn});
  cache_.erase(block);
  --num_cached_free_;
}

void KvCache::register_full_blocks(Request& request, int tokens) {
  const int end = tokens / config_.block_size;
  if (end <= request.num_hashed_blocks || !config_.prefix_caching) return;
  number_contents(request);
  for (int i = request.num_hashed_blocks; i < end; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const BlockId block = request.blocks[at];
    // After a failed load another request that shares the block may have computed it first.
    if (cache_.contains(block)) continue;
    cache_.insert(request.contents[at], block);
    owners_[index(block)] = {request.spec.job, request.spec.turn};
    ++num_changes_;
  }
  if (eviction_order_ != nullptr) tell_registered(request, end);
  request.num_hashed_blocks = end;
}

std::vector<BlockId> KvCache::take_blocks(Request& request) {
  std::vector<BlockId> blocks(request.blocks);
  request.blocks.clear();
  request.num_hashed_blocks = 0;
  return blocks;
}

void KvCache::release(std::span<const BlockId> blocks) {
  for (const BlockId block : std::views::reverse(blocks)) release_block(block);
  after_release(blocks);
}

/// Blocks released together stay in order: the last block of a table is allocated first.
void KvCache::after_release(std::span<const BlockId> blocks) {
  if (config_.partial_blocks_first)
    for (const BlockId block : blocks)
      if (pool_.refs(block) == 0 && !cache_.contains(block)) pool_.move_to_free_head(block);
  if (eviction_order_ != nullptr) tell_freed(blocks);
}

void KvCache::release(Request& request) {
  release(std::span<const BlockId>(request.blocks));
  request.blocks.clear();
  request.num_hashed_blocks = 0;
}

void KvCache::truncate(Request& request, int num_blocks) {
  unregister_from(request, num_blocks);
  release_tail(request, num_blocks);
}

void KvCache::release_tail(Request& request, int num_blocks) {
  if (static_cast<int>(request.blocks.size()) > num_blocks) {
    const auto kept = static_cast<std::size_t>(num_blocks);
    release(std::span<const BlockId>(request.blocks).subspan(kept));
    request.blocks.resize(kept);
  }
  request.num_hashed_blocks = std::min(request.num_hashed_blocks, num_blocks);
}

void KvCache::restore_order() {
  if (pool_.num_free() != pool_.num_usable()) return;
  for (auto block = static_cast<std::uint32_t>(pool_.num_usable()); block > 0; --block)
    pool_.move_to_free_head(BlockId{block});
}

void KvCache::forget_uncomputed(Request& request) {
  unregister_from(request, request.num_computed_tokens / config_.block_size);
}

void KvCache::unregister_from(Request& request, int first_block) {
  for (int i = first_block; i < request.num_hashed_blocks; ++i) {
    const BlockId block = request.blocks[static_cast<std::size_t>(i)];
    if (!cache_.contains(block)) continue;
    cache_.erase(block);
    if (eviction_order_ != nullptr) eviction_order_->on_unregistered(block);
    ++num_changes_;
  }
  request.num_hashed_blocks = std::min(request.num_hashed_blocks, first_block);
}

void KvCache::begin_copy(BlockId block) {
  const bool free = pool_.refs(block) == 0;
  const bool cached_free = free && cache_.contains(block);
  num_cached_free_ -= cached_free ? 1 : 0;
  if (cached_free && eviction_order_ != nullptr) eviction_order_->on_used(block);
  count_kept(block, -1);
  pool_.touch(block);
  ++keepers_[index(block)].copies;
  count_kept(block, 1);
  ++num_changes_;
}

void KvCache::end_copy(BlockId block) {
  count_kept(block, -1);
  --keepers_[index(block)].copies;
  release_block(block);
  after_release({&block, 1});
}

void KvCache::count_kept(BlockId block, int by) {
  if (pinned_only(block)) {
    num_pinned_only_ += by;
  } else if (copying_only(block)) {
    num_copying_only_ += by;
  }
}

std::vector<BlockId> KvCache::pin(Request& request) {
  std::vector<BlockId> blocks = take_blocks(request);
  for (const BlockId block : blocks) {
    ++keepers_[index(block)].pins;
    count_kept(block, 1);
  }
  return blocks;
}

void KvCache::unpin(std::span<const BlockId> blocks) {
  for (const BlockId block : std::views::reverse(blocks)) {
    count_kept(block, -1);
    // Drops the pin and its reference together, so that a block with other pins stays counted.
    --keepers_[index(block)].pins;
    release_block(block);
  }
  after_release(blocks);
}

void KvCache::tell_registered(const Request& request, int end) {
  for (int i = request.num_hashed_blocks; i < end; ++i) eviction_order_->on_registered(request, i);
}

void KvCache::tell_hits(const Request& request) {
  for (std::size_t i = 0; i < request.blocks.size(); ++i) {
    if (pool_.refs(request.blocks[i]) == 1) eviction_order_->on_used(request.blocks[i]);
    eviction_order_->on_hit(request, static_cast<int>(i));
  }
}

/// Reports those of the released blocks that have content and no reference left.
void KvCache::tell_freed(std::span<const BlockId> released) {
  for (const BlockId block : std::views::reverse(released))
    if (pool_.refs(block) == 0 && cache_.contains(block)) eviction_order_->on_freed(block);
}

void KvCache::touch(BlockId block) {
  count_kept(block, -1);
  num_cached_free_ -= pool_.refs(block) == 0 ? 1 : 0;  // a hit is always registered
  pool_.touch(block);
  ++num_changes_;
}

void KvCache::release_block(BlockId block) {
  ++num_changes_;
  if (pool_.release(block)) {
    num_cached_free_ += cache_.contains(block) ? 1 : 0;
  } else {
    count_kept(block, 1);
  }
}

void KvCache::verify() const {
  const auto require = [](bool holds, const std::string& what) {
    if (!holds) throw std::logic_error("KV cache: " + what);
  };
  BlockCensus seen;
  int free_listed = 0;
  for (BlockId b = pool_.free_head(); b != BlockId{0}; b = pool_.next_free(b)) {
    require(pool_.refs(b) == 0, "a block in the free list has references");
    require(++free_listed <= pool_.num_usable(), "the free list has a cycle");
  }
  for (std::uint32_t i = 1; i <= static_cast<std::uint32_t>(pool_.num_usable()); ++i) {
    const BlockId block{i};
    const Keepers& kept = keepers_[i];
    require(kept.pins >= 0 && kept.copies >= 0 && kept.pins + kept.copies <= pool_.refs(block),
            "more pins and copies than references");
    const bool registered = cache_.contains(block);
    require(!registered || cache_.finds(block), "a registered block cannot be found");
    const bool free = pool_.refs(block) == 0;
    ++(free ? (registered ? seen.cached : seen.empty)
            : (pinned_only(block)    ? seen.pinned
               : copying_only(block) ? seen.copying
                                     : seen.allocated));
  }
  const BlockCensus counted = census();
  require(free_listed == pool_.num_free(), "the free list and its counter differ");
  require(seen.allocated == counted.allocated && seen.pinned == counted.pinned &&
              seen.copying == counted.copying && seen.cached == counted.cached &&
              seen.empty == counted.empty,
          "the census differs from a recount");
}

}  // namespace engine
