// Private to this room.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "workers/engine/base/block_hash.hpp"
#include "workers/workload/trajectory.hpp"

namespace bounds {

struct HashOf {
  std::size_t operator()(const engine::BlockHash& hash) const { return hash.low; }
};

/// Calls visit(job, turn, hashes) for every turn, with the hashes of the blocks that it fills: of
/// prompt and answer except the last token, which is never computed.
template <class Visit>
void for_each_turn(const workload::Workload& workload, int block_size, Visit visit) {
  const auto block = static_cast<std::size_t>(block_size);
  std::vector<engine::TokenId> made;
  for (std::uint32_t number = 0; number < workload.jobs.size(); ++number) {
    const workload::Job& job = workload.jobs[number];
    std::vector<engine::BlockHash> hashes;
    if (!workload.prompts) hashes = engine::hash_blocks(job.tokens, block_size);
    for (std::size_t turn = 0; turn < job.turns.size(); ++turn) {
      if (workload.prompts) {
        workload.prompts->make(number, static_cast<int>(turn), made);
        const auto same = static_cast<std::size_t>(workload::computed_before(job, turn)) / block;
        hashes.resize(std::min(hashes.size(), same));
        for (std::size_t at = hashes.size() * block; at + block <= made.size(); at += block)
          hashes.push_back(engine::chain_hash(hashes.empty() ? engine::root_hash() : hashes.back(),
                                              std::span(made).subspan(at, block)));
      }
      const int computed = job.turns[turn].prompt_tokens + job.turns[turn].output_tokens - 1;
      const auto filled = static_cast<std::size_t>(std::max(0, computed)) / block;
      visit(number, turn,
            std::span<const engine::BlockHash>(hashes).first(std::min(filled, hashes.size())));
    }
  }
}

}  // namespace bounds
