#pragma once

namespace engine {

struct KvConfig {
  int num_blocks = 0;   // including the null block 0
  int block_size = 16;  // tokens a block
  bool prefix_caching = true;
  // A block released without content is allocated next, before content is evicted for it (vLLM
  // since May 2026); otherwise it queues behind all free blocks.
  bool partial_blocks_first = false;
};

}  // namespace engine
