#include "workers/bounds/needs.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "workers/bounds/turn_blocks.hpp"

namespace bounds {
namespace {

using engine::BlockHash;
using workload::Job;
using workload::Workload;

constexpr std::uint32_t kSeveral = 0xffffffff;
using Owners = std::unordered_map<BlockHash, std::uint32_t, HashOf>;  // the job, or kSeveral
using Blocks = std::unordered_set<BlockHash, HashOf>;

Owners owners_of(const Workload& workload, int block_size) {
  Owners owners;
  for_each_turn(workload, block_size, [&](std::uint32_t job, std::size_t, auto hashes) {
    for (const BlockHash& hash : hashes) {
      const auto [owner, is_new] = owners.try_emplace(hash, job);
      if (owner->second != job) owner->second = kSeveral;
    }
  });
  return owners;
}

TurnNeed need_of(const Job& job, std::size_t turn, int known_tokens, int shared_tokens) {
  const workload::Turn& of = job.turns[turn];
  TurnNeed need;
  need.prompt = of.prompt_tokens;
  need.output = std::max(1, of.output_tokens);
  const int known = std::max(known_tokens, workload::computed_before(job, turn));
  need.fresh = std::max(1, of.prompt_tokens - known);
  need.unshared = std::max(0, of.prompt_tokens - shared_tokens);
  need.gap_s = engine::to_seconds(of.gap);
  return need;
}

void set_gaps_of_agents(const workload::AgentPlace& place, JobNeed& need) {
  for (std::size_t turn = 1; turn < place.since_start.size() && turn < need.size(); ++turn)
    if (const auto since = place.since_start[turn])
      need[turn - 1].since_start_s = engine::to_seconds(*since);
}

}  // namespace

std::vector<JobNeed> needs_of(const Workload& workload, int block_size) {
  const Owners owners = owners_of(workload, block_size);
  std::vector<JobNeed> needs(static_cast<std::size_t>(workload.programs()));
  Blocks own;  // of earlier turns of the job
  for_each_turn(workload, block_size, [&](std::uint32_t job, std::size_t turn, auto hashes) {
    if (turn == 0) own.clear();
    if (workload.root_of(job) == job) {
      // A block's hash includes all before it, so that the blocks that others have come first.
      const auto is_shared = [&](const BlockHash& hash) { return owners.at(hash) == kSeveral; };
      const auto is_known = [&](const BlockHash& hash) {
        return is_shared(hash) || own.contains(hash);
      };
      const auto leading = [&](const auto& is) {
        return static_cast<int>(std::ranges::find_if_not(hashes, is) - hashes.begin()) * block_size;
      };
      needs[workload.program_of(job)].push_back(
          need_of(workload.jobs[job], turn, leading(is_known), leading(is_shared)));
    }
    own.insert(hashes.begin(), hashes.end());
  });
  for (std::uint32_t job = 0; job < workload.agents.size(); ++job)
    if (workload.root_of(job) == job)
      set_gaps_of_agents(workload.agents[job], needs[workload.program_of(job)]);
  return needs;
}

}  // namespace bounds
