#pragma once
#include <cstdint>

#include "workers/engine/cache/prefix_cache.hpp"

namespace support {

/// Number of different contents that blocks hold.
inline int num_contents(const engine::PrefixCache& cache) {
  int count = 0;
  for (std::uint32_t content = 0; content < cache.room(); ++content)
    count += cache.find(engine::ContentId{content}) ? 1 : 0;
  return count;
}

}  // namespace support
