#pragma once

namespace engine {

struct KvConfig {
  int num_blocks = 0;   // including the null block 0
  int block_size = 16;  // tokens a block
  bool prefix_caching = true;
};

}  // namespace engine
