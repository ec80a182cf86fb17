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
  explicit BlockWatch(KvCache& kv)
      : kv_(kv), users_(static_cast<std::size_t>(kv.num_usable()) + 1) {}

  /// Watches the blocks of the turn, which still references them.
  void watch(WatchedKv& job, const Request& request) {
    for (std::size_t i = 0; i < job.contents.size() && i < request.blocks.size(); ++i) {
      job.cached.push_back(request.blocks[i]);
      if (!has(job, i)) {
        job.cached.pop_back();
        return;
      }
      ++users_[index(request.blocks[i])];
    }
  }
  /// Watches one more block behind those already watched.
  void watch(WatchedKv& job, BlockId block) {
    job.cached.push_back(block);
    ++users_[index(block)];
  }
  void unwatch(WatchedKv& job) {
    for (const BlockId block : job.cached) --users_[index(block)];
    job.cached.clear();
  }
  /// Drops blocks from the end that have lost their content.
  void refresh(WatchedKv& job) {
    while (!job.cached.empty() && !has(job, job.cached.size() - 1)) {
      --users_[index(job.cached.back())];
      job.cached.pop_back();
    }
  }
  bool watched(BlockId block) const { return users_[index(block)] > 0; }

  /// Makes up to `count` of the job's last cached blocks the next to be allocated. Returns how
  /// many.
  int trim(WatchedKv& job, int count) {
    trimmed_.clear();
    while (!job.cached.empty() && static_cast<int>(trimmed_.size()) < count) {
      const BlockId block = job.cached.back();
      const bool there = has(job, job.cached.size() - 1);
      // Referenced by requests that share it and all blocks before it, or by a copy that ends soon.
      if (there && kv_.pool().refs(block) > 0) break;
      job.cached.pop_back();
      const bool shared = --users_[index(block)] > 0;
      if (there && !shared) trimmed_.push_back(block);
    }
    // The block moved last is allocated first, so the last block of the sequence is moved last.
    for (auto block = trimmed_.rbegin(); block != trimmed_.rend(); ++block)
      kv_.move_to_free_head(*block);
    return static_cast<int>(trimmed_.size());
  }
  /// The job has ended: makes the block with its content the next to be allocated. False where
  /// others use it, or watch it, or it is gone.
  bool give_up(ContentId content) {
    const auto block = cache().find(content);
    if (!block || kv_.pool().refs(*block) > 0 || watched(*block)) return false;
    kv_.move_to_free_head(*block);
    return true;
  }

 protected:
  const PrefixCache& cache() const { return kv_.prefix_cache(); }

 private:
  bool has(const WatchedKv& job, std::size_t i) const {
    return cache().content_of(job.cached[i]) == job.contents[i];
  }

  KvCache& kv_;
  std::vector<std::int32_t> users_;  // by block: jobs that watch it
  std::vector<BlockId> trimmed_;
};

}  // namespace engine
