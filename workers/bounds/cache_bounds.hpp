#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

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

/// From one use of some blocks to the next; kept, they take room all the time in between.
struct Wait {
  std::int64_t begin = 0, end = 0;
  std::int64_t blocks = 1;
};

/// The most blocks that can be kept with room for `capacity` at a time. O(n log n).
std::int64_t most_kept(std::vector<Wait> waits, std::int64_t capacity);

/// Belady's MIN: the fewest accesses that do not find their content in a cache of `capacity`, where
/// what is accessed need not be kept.
std::int64_t least_misses(std::span<const std::uint32_t> accesses, std::int64_t capacity);

/// When a turn was served.
struct Served {
  std::int32_t program = 0, number = 0;  // as in /turns
  double admitted_s = 0, finished_s = 0;
};

/// Whole blocks of prompts before the last token, which turns look for when they are first
/// admitted.
struct MissBound {
  std::int64_t looked_for = 0;
  std::int64_t least = 0;       // that are not found
  std::int64_t compulsory = 0;  // of these: no turn had filled them before
};

/// The blocks that each turn of a workload fills.
class TurnBlocks {
 public:
  TurnBlocks(const workload::Workload& workload, int block_size);

  /// For turns served in these times, whatever is evicted: MIN with room for `capacity` blocks. A
  /// block that a turn in progress fills takes no room, and is found.
  MissBound least_misses(std::span<const Served> turns, std::int64_t capacity) const;

 private:
  struct Turn {
    std::vector<std::uint32_t> filled;  // numbers of blocks
    std::size_t looked_for = 0;         // the first of them
  };
  struct Event;
  std::vector<Event> events_of(std::span<const Served> turns) const;

  std::map<std::pair<int, int>, Turn> turns_;  // by program, and number in it
  std::size_t blocks_ = 0;
};

}  // namespace bounds
