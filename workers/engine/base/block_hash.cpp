#include "workers/engine/base/block_hash.hpp"

namespace engine {
namespace {

// Folds a 128-bit product: every bit of both factors reaches every bit of the result.
std::uint64_t fold_multiply(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// Odd constants without structure: fractional parts of sqrt(2), sqrt(3), sqrt(5), sqrt(7).
constexpr std::uint64_t kSqrt2 = 0x6a09e667f3bcc909, kSqrt3 = 0xbb67ae8584caa73b;
constexpr std::uint64_t kSqrt5 = 0x3c6ef372fe94f82b, kSqrt7 = 0xa54ff53a5f1d36f1;

template <class TokenAt>
BlockHash fold_tokens(const BlockHash& parent, std::size_t count, TokenAt token_at) {
  // Two lanes with different constants: a collision requires both lanes to collide.
  std::uint64_t high = parent.high ^ count;
  std::uint64_t low = parent.low + count;
  std::size_t i = 0;
  for (; i + 2 <= count; i += 2) {
    const std::uint64_t pair = (static_cast<std::uint64_t>(token_at(i)) << 32) | token_at(i + 1);
    high = fold_multiply(high ^ pair ^ kSqrt2, low ^ kSqrt3) + pair;
    low = fold_multiply(low ^ pair ^ kSqrt5, high ^ kSqrt7) + pair;
  }
  if (i < count) {
    high = fold_multiply(high ^ token_at(i) ^ kSqrt3, low ^ kSqrt2);
    low = fold_multiply(low ^ token_at(i) ^ kSqrt7, high ^ kSqrt5);
  }
  return {fold_multiply(high ^ kSqrt5, low ^ kSqrt2) ^ high,
          fold_multiply(low ^ kSqrt3, high ^ kSqrt7) ^ low};
}

}  // namespace

BlockHash root_hash(std::uint64_t salt) {
  return {fold_multiply(salt ^ kSqrt2, kSqrt3), fold_multiply(salt ^ kSqrt5, kSqrt7)};
}

BlockHash chain_hash(const BlockHash& parent, std::span<const TokenId> tokens) {
  return fold_tokens(parent, tokens.size(), [&](std::size_t i) { return tokens[i]; });
}

BlockHash chain_hash(const BlockHash& parent, std::span<const TokenId> head,
                     std::span<const TokenId> tail) {
  return fold_tokens(parent, head.size() + tail.size(), [&](std::size_t i) {
    return i < head.size() ? head[i] : tail[i - head.size()];
  });
}

std::vector<BlockHash> hash_blocks(std::span<const TokenId> tokens, int block_size,
                                   std::uint64_t salt) {
  const auto size = static_cast<std::size_t>(block_size);
  std::vector<BlockHash> hashes;
  hashes.reserve(tokens.size() / size);
  BlockHash parent = root_hash(salt);
  for (std::size_t begin = 0; begin + size <= tokens.size(); begin += size) {
    parent = chain_hash(parent, tokens.subspan(begin, size));
    hashes.push_back(parent);
  }
  return hashes;
}

}  // namespace engine
