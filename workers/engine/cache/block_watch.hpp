#pragma once
#include <vector>

#include "workers/engine/cache/kv_cache.hpp"

namespace engine {

/// The cached KV of a job that computes nothing at present.
struct WatchedKv {
  std::vector<ContentId> contents;  // of the full blocks of its last turn
  std::vector<BlockId> cached;      // the leading ones that are on the GPU
};

/// Evicts cached KV of such jobs from the end, so that what stays is a usable prefix. Blocks that
/// are referenced or shared with another of these jobs stay.
class BlockWatch {
 public:
  explicit BlockWatch(KvCache& kv);

  /// Watches the blocks of the turn, which still references them.
  void watch(WatchedKv& job, const Request& request);
  /// Watches one more block behind those already watched.
  void watch(WatchedKv& job, BlockId block);
  void unwatch(WatchedKv& job);
  /// Drops blocks from the end that have lost their content.
  void refresh(WatchedKv& job);
  bool watched(BlockId block) const { return users_[index(block)] > 0; }

  /// Makes up to `count` of the job's last cached blocks the next to be allocated. Returns how
  /// many.
  int trim(WatchedKv& job, int count);
  /// The job has ended: makes the block with its content the next to be allocated. False where
  /// others use it, or watch it, or it is gone.
  bool give_up(ContentId content);

 protected:
  const PrefixCache& cache() const { return kv_.prefix_cache(); }

 private:
  bool has(const WatchedKv& job, std::size_t i) const;

  KvCache& kv_;
  std::vector<std::int32_t> users_;  // by block: jobs that watch it
  std::vector<BlockId> trimmed_;
};

}  // namespace engine
