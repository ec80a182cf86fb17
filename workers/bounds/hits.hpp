#pragma once
#include <cstdint>

#include "workers/workload/trajectory.hpp"

namespace bounds {

/// Prompt tokens that turns find cached when they are first admitted.
struct HitBound {
  std::int64_t prompt_tokens = 0;
  std::int64_t most_tokens = 0;  // that any policy can find, however large the cache
};

/// How a tier finds KV: whole blocks before the last token, or all tokens before it.
enum class Found : std::uint8_t { whole_blocks, tokens };

/// A turn computes the last token of its prompt, and some turn each block that no turn only
/// generates. Generated tokens are those recorded.
HitBound most_hits(const workload::Workload& workload, int block_size, Found found);

}  // namespace bounds
