#pragma once
#include <vector>

#include "workers/engine/cache/host_pool.hpp"
#include "workers/engine/cache/kv_cache.hpp"
#include "workers/engine/prefetch/jobs.hpp"

namespace engine {

/// Evicts cached KV of paused jobs from the end, so that what stays is a usable prefix. Neither
/// makes copies nor waits for them; blocks that are referenced or shared stay.
class PrefetchVictims {
 public:
  PrefetchVictims(KvCache& kv, HostPool& host);

  /// Watches the blocks of the finished turn for the job. The turn still references them.
  void watch(PausedJob& job, const Request& request);
  /// Watches one more block behind those already watched.
  void watch(PausedJob& job, BlockId block);
  void unwatch(PausedJob& job);
  /// Drops blocks from the end that have lost their content.
  void refresh(PausedJob& job);
  bool watched(BlockId block) const { return users_[index(block)] > 0; }

  /// Makes up to `count` of the job's last cached blocks the next to be allocated. Returns how
  /// many.
  int trim(PausedJob& job, int count);
  /// Makes up to `count` of the job's last blocks the next to be evicted from the host tier.
  /// Returns how many.
  int trim_host(PausedJob& job, int count);
  /// The job has ended: makes its KV the next to be evicted, except for the first `kept_blocks`,
  /// which other jobs share.
  void give_up(const PausedJob& job, int kept_blocks);

 private:
  bool has(const PausedJob& job, std::size_t i) const;

  KvCache& kv_;
  HostPool& host_;
  std::vector<std::int32_t> users_;  // by block: jobs that watch it
  std::vector<BlockId> trimmed_;
};

}  // namespace engine
