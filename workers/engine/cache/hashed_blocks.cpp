#include "workers/engine/cache/hashed_blocks.hpp"

#include <bit>
#include <cassert>

namespace engine {

HashedBlocks::HashedBlocks(int num_blocks) : first_chain_(static_cast<std::uint32_t>(num_blocks)) {
  const auto count = static_cast<std::size_t>(num_blocks);
  const std::size_t chains = std::bit_ceil(2 * count);
  mask_ = chains - 1;
  next_.resize(count + chains);
  prev_.resize(count);
  hashes_.resize(count);
}

std::optional<BlockId> HashedBlocks::find(const BlockHash& hash) const {
  std::uint32_t oldest = 0;
  for (std::uint32_t b = next_[chain_of(hash)]; b != 0; b = next_[b])
    if (hashes_[b] == hash) oldest = b;
  return oldest == 0 ? std::nullopt : std::optional(BlockId{oldest});
}

// Neither reads the hashes of other blocks nor branches on what the chain holds: what is written
// for the block in front of none, or behind none, goes to the null block.
void HashedBlocks::insert(const BlockHash& hash, BlockId block) {
  const std::uint32_t b = index(block), front = chain_of(hash), next = next_[front];
  assert(b != 0 && prev_[b] == 0);
  next_[front] = b;
  prev_[b] = front;
  next_[b] = next;
  prev_[next] = b;
  prev_[0] = 0;
  hashes_[b] = hash;
  ++num_blocks_;
}

void HashedBlocks::erase(BlockId block) {
  const std::uint32_t b = index(block), prev = prev_[b], next = next_[b];
  assert(prev != 0);
  next_[prev] = next;
  prev_[next] = prev;
  prev_[0] = 0;
  prev_[b] = 0;
  --num_blocks_;
}

}  // namespace engine
