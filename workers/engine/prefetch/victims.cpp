#include "workers/engine/prefetch/victims.hpp"

namespace engine {

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
  ContentId content{};
  for (std::size_t i = 0; i < job.hashes.size(); ++i) {
    const BlockHash& hash = job.hashes[i];
    content = cache().content_after(content, hash);
    if (i < static_cast<std::size_t>(kept_blocks)) continue;
    BlockWatch::give_up(content);
    const auto slot = host_.find(hash);
    if (slot && host_.holders(*slot) == 0 && host_.owner(*slot).job == job.id)
      host_.evict_next(*slot);
  }
}

}  // namespace engine
