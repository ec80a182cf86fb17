#include "workers/engine/cache/block_watch.hpp"

namespace engine {

BlockWatch::BlockWatch(KvCache& kv)
    : kv_(kv), users_(static_cast<std::size_t>(kv.num_usable()) + 1) {}

bool BlockWatch::has(const WatchedKv& job, std::size_t i) const {
  return cache().content_of(job.cached[i]) == job.contents[i];
}

void BlockWatch::watch(WatchedKv& job, const Request& request) {
  for (std::size_t i = 0; i < job.contents.size() && i < request.blocks.size(); ++i) {
    job.cached.push_back(request.blocks[i]);
    if (!has(job, i)) {
      job.cached.pop_back();
      return;
    }
    ++users_[index(request.blocks[i])];
  }
}

void BlockWatch::watch(WatchedKv& job, BlockId block) {
  job.cached.push_back(block);
  ++users_[index(block)];
}

void BlockWatch::unwatch(WatchedKv& job) {
  for (const BlockId block : job.cached) --users_[index(block)];
  job.cached.clear();
}

void BlockWatch::refresh(WatchedKv& job) {
  while (!job.cached.empty() && !has(job, job.cached.size() - 1)) {
    --users_[index(job.cached.back())];
    job.cached.pop_back();
  }
}

int BlockWatch::trim(WatchedKv& job, int count) {
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

bool BlockWatch::give_up(ContentId content) {
  const auto block = cache().find(content);
  if (!block || kv_.pool().refs(*block) > 0 || watched(*block)) return false;
  kv_.move_to_free_head(*block);
  return true;
}

}  // namespace engine
