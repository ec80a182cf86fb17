#pragma once
#include <span>
#include <vector>

#include "workers/engine/host_pool.hpp"
#include "workers/engine/kv_cache.hpp"
#include "workers/engine/prefetch_jobs.hpp"

namespace engine {

/// Gives up cached KV of paused jobs from its end: what stays is a prefix, which alone is of use.
/// Copies are neither made nor waited for; blocks that are held or shared stay.
class PrefetchVictims {
 public:
  PrefetchVictims(KvCache& kv, HostPool& host);

  /// Blocks of the finished turn, which still refers to them, count as the job's.
  void watch(PausedJob& job, const Request& request);
  /// Another block behind those that are watched.
  void watch(PausedJob& job, BlockId block);
  void unwatch(PausedJob& job);
  /// Forgets blocks that were lost since.
  void refresh(PausedJob& job);
  bool watched(BlockId block) const { return users_[index(block)] > 0; }

  /// The job's last cached blocks are handed out next, as many as that, or fewer. Returns how many.
  int trim(PausedJob& job, int count);
  /// The host's copy of the job's last blocks is evicted next. Returns how many blocks.
  int trim_host(PausedJob& job, int count);
  /// The job is of no use any more, but for its first blocks, which others begin with, too.
  void give_up(const PausedJob& job, int kept_blocks);

 private:
  bool has(const PausedJob& job, std::size_t i) const;

  KvCache& kv_;
  HostPool& host_;
  std::vector<std::int32_t> users_;  // by block: jobs that watch it
  std::vector<BlockId> trimmed_;
};

}  // namespace engine
