#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "workers/engine/base/ids.hpp"

namespace engine {

/// Identity of a full KV block: 128 bits over its tokens and everything before them.
struct BlockHash {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend bool operator==(const BlockHash&, const BlockHash&) = default;
};

/// Parent of a sequence's first block. Sequences of different salt share no block.
BlockHash root_hash(std::uint64_t salt = 0);

/// Hash of the block that holds `tokens` and follows the block of hash `parent`.
BlockHash chain_hash(const BlockHash& parent, std::span<const TokenId> tokens);
/// Hash of a block with tokens in two spans.
BlockHash chain_hash(const BlockHash& parent, std::span<const TokenId> head,
                     std::span<const TokenId> tail);

/// Hashes of all full blocks of `tokens`, in order.
std::vector<BlockHash> hash_blocks(std::span<const TokenId> tokens, int block_size,
                                   std::uint64_t salt = 0);

}  // namespace engine
