#include "workers/engine/cache/prefix_cache.hpp"

#include <bit>
#include <cassert>

namespace engine {

PrefixCache::PrefixCache(int num_blocks) {
  const auto count = static_cast<std::size_t>(num_blocks);
  const std::size_t buckets = std::bit_ceil(2 * count);
  mask_ = buckets - 1;
  buckets_.resize(buckets);
  next_.resize(count);
  hashes_.resize(count);
  registered_.resize(count);
}

std::optional<BlockId> PrefixCache::find(const BlockHash& hash) const {
  for (std::uint32_t b = buckets_[hash.low & mask_]; b != 0; b = next_[b]) {
    if (hashes_[b] == hash) return BlockId{b};
  }
  return std::nullopt;
}

void PrefixCache::insert(const BlockHash& hash, BlockId block) {
  const std::uint32_t b = index(block);
  assert(b != 0 && !registered_[b]);
  // Appends to the chain, so that find() returns the oldest of equal blocks.
  std::uint32_t* slot = &bucket(hash);
  bool duplicate = false;
  while (*slot != 0) {
    duplicate |= hashes_[*slot] == hash;
    slot = &next_[*slot];
  }
  *slot = b;
  next_[b] = 0;
  hashes_[b] = hash;
  registered_[b] = 1;
  ++num_blocks_;
  num_hashes_ += duplicate ? 0 : 1;
}

void PrefixCache::erase(BlockId block) {
  const std::uint32_t b = index(block);
  assert(registered_[b]);
  const BlockHash& hash = hashes_[b];
  std::uint32_t* slot = &bucket(hash);
  bool duplicate = false;
  for (; *slot != b; slot = &next_[*slot]) duplicate |= hashes_[*slot] == hash;
  *slot = next_[b];
  for (std::uint32_t rest = next_[b]; rest != 0 && !duplicate; rest = next_[rest]) {
    duplicate = hashes_[rest] == hash;
  }
  registered_[b] = 0;
  --num_blocks_;
  num_hashes_ -= duplicate ? 0 : 1;
}

}  // namespace engine
