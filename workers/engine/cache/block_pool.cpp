#include "workers/engine/cache/block_pool.hpp"

#include <stdexcept>
#include <string>

namespace engine {

BlockPool::BlockPool(int num_blocks) : num_usable_(num_blocks - 1), num_free_(num_blocks - 1) {
  if (num_blocks < 2)
    throw std::invalid_argument("a block pool needs the null block and one more, found " +
                                std::to_string(num_blocks));
  const auto count = static_cast<std::uint32_t>(num_blocks);
  next_.resize(count);
  prev_.resize(count);
  refs_.resize(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    next_[i] = i + 1 == count ? 0 : i + 1;
    prev_[i] = i == 0 ? count - 1 : i - 1;
  }
}

void BlockPool::unlink(std::uint32_t block) {
  next_[prev_[block]] = next_[block];
  prev_[next_[block]] = prev_[block];
  --num_free_;
}

void BlockPool::touch(BlockId block) {
  assert(block != BlockId{0});
  if (refs_[index(block)]++ == 0) unlink(index(block));
}

bool BlockPool::release(BlockId block) {
  const std::uint32_t b = index(block);
  assert(b != 0 && refs_[b] > 0);
  if (--refs_[b] > 0) return false;
  link_before(b, 0);
  return true;
}

void BlockPool::move_to_free_head(BlockId block) {
  assert(block != BlockId{0} && refs(block) == 0);
  unlink(index(block));
  link_before(index(block), next_[0]);
}

void BlockPool::link_before(std::uint32_t block, std::uint32_t next) {
  prev_[block] = prev_[next];
  next_[block] = next;
  next_[prev_[next]] = block;
  prev_[next] = block;
  ++num_free_;
}

}  // namespace engine
