#include "workers/engine/prefetch/victims.hpp"

namespace engine {

PrefetchVictims::PrefetchVictims(KvCache& kv, HostPool& host)
    : kv_(kv), host_(host), users_(static_cast<std::size_t>(kv.num_usable()) + 1) {}

bool PrefetchVictims::has(const PausedJob& job, std::size_t i) const {
  const PrefixCache& cache = kv_.prefix_cache();
  return cache.contains(job.cached[i]) && cache.hash_of(job.cached[i]) == job.hashes[i];
}

void PrefetchVictims::watch(PausedJob& job, const Request& request) {
  for (std::size_t i = 0; i < job.hashes.size() && i < request.blocks.size(); ++i) {
    job.cached.push_back(request.blocks[i]);
    if (!has(job, i)) {
      job.cached.pop_back();
      return;
    }
    ++users_[index(request.blocks[i])];
  }
}

void PrefetchVictims::watch(PausedJob& job, BlockId block) {
  job.cached.push_back(block);
  ++users_[index(block)];
}

void PrefetchVictims::unwatch(PausedJob& job) {
  for (const BlockId block : job.cached) --users_[index(block)];
  job.cached.clear();
}

void PrefetchVictims::refresh(PausedJob& job) {
  while (!job.cached.empty() && !has(job, job.cached.size() - 1)) {
    --users_[index(job.cached.back())];
    job.cached.pop_back();
  }
}

int PrefetchVictims::trim(PausedJob& job, int count) {
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

int PrefetchVictims::trim_host(PausedJob& job, int count) {
  std::vector<HostSlot> slots;
  for (; job.stored > 0 && static_cast<int>(slots.size()) < count; --job.stored) {
    const auto slot = host_.find(job.hashes[static_cast<std::size_t>(job.stored) - 1]);
    if (slot && host_.holders(*slot) == 0 && host_.owner(*slot).job == job.id)
      slots.push_back(*slot);
  }
  for (auto slot = slots.rbegin(); slot != slots.rend(); ++slot) host_.evict_next(*slot);
  return static_cast<int>(slots.size());
}

void PrefetchVictims::give_up(const PausedJob& job, int kept_blocks) {
  for (const BlockHash& hash :
       std::span(job.hashes).subspan(static_cast<std::size_t>(kept_blocks))) {
    const auto block = kv_.prefix_cache().find(hash);
    if (block && kv_.pool().refs(*block) == 0 && !watched(*block)) kv_.move_to_free_head(*block);
    const auto slot = host_.find(hash);
    if (slot && host_.holders(*slot) == 0 && host_.owner(*slot).job == job.id)
      host_.evict_next(*slot);
  }
}

}  // namespace engine
