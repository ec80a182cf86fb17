#include "workers/bounds/hits.hpp"

#include <algorithm>
#include <unordered_map>

#include "workers/bounds/turn_blocks.hpp"

namespace bounds {

HitBound most_hits(const workload::Workload& workload, int block_size, Found found) {
  HitBound bound;
  // By block: the fewest of its tokens that a turn which fills it can find. The turn that fills it
  // first finds none; 0: it may be one that generates or computes the block without looking for it.
  std::unordered_map<engine::BlockHash, int, HashOf> fewest;
  for_each_turn(workload, block_size, [&](std::uint32_t job, std::size_t turn, auto hashes) {
    const int prompt = workload.jobs[job].turns[turn].prompt_tokens;
    const int before_last = std::max(0, prompt - 1);
    const int most =
        found == Found::whole_blocks ? before_last / block_size * block_size : before_last;
    bound.prompt_tokens += prompt;
    bound.most_tokens += most;
    int first = 0;  // token of the block
    for (const engine::BlockHash& hash : hashes) {
      const int tokens = std::clamp(most - first, 0, block_size);
      const auto [block, is_new] = fewest.try_emplace(hash, tokens);
      block->second = std::min(block->second, tokens);
      first += block_size;
    }
  });
  for (const auto& [hash, tokens] : fewest) bound.most_tokens -= tokens;
  return bound;
}

}  // namespace bounds
