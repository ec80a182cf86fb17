#pragma once
#include "workers/engine/cache/block_watch.hpp"
#include "workers/engine/cache/host_store.hpp"
#include "workers/engine/prefetch/jobs.hpp"

namespace engine {

/// Evicts cached KV of paused jobs from the end, on the GPU and on the host. Neither makes copies
/// nor waits for them.
class PrefetchVictims : public BlockWatch {
 public:
  PrefetchVictims(KvCache& kv, HostStore& host) : BlockWatch(kv), host_(host) {}

  /// Makes up to `count` of the job's last blocks the next to be evicted from the host tier.
  /// Returns how many.
  int trim_host(PausedJob& job, int count);
  /// The job has ended: makes its KV the next to be evicted, except for the first `kept_blocks`,
  /// which other jobs share.
  void give_up(const PausedJob& job, int kept_blocks);

 private:
  HostStore& host_;
};

}  // namespace engine
