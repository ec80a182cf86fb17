#include "workers/engine/prefetch/victims.hpp"

namespace engine {

int PrefetchVictims::trim_host(PausedJob& job, int count) {
  std::vector<HostSlot> slots;
  for (; job.stored > 0 && static_cast<int>(slots.size()) < count; --job.stored) {
    const auto slot = host_.find(job.contents[static_cast<std::size_t>(job.stored) - 1]);
    if (slot && host_.holders(*slot) == 0 && host_.owner(*slot).job == job.id)
      slots.push_back(*slot);
  }
  for (auto slot = slots.rbegin(); slot != slots.rend(); ++slot) host_.evict_next(*slot);
  return static_cast<int>(slots.size());
}

void PrefetchVictims::give_up(const PausedJob& job, int kept_blocks) {
  for (auto i = static_cast<std::size_t>(kept_blocks); i < job.contents.size(); ++i) {
    BlockWatch::give_up(job.contents[i]);
    const auto slot = host_.find(job.contents[i]);
    if (slot && host_.holders(*slot) == 0 && host_.owner(*slot).job == job.id)
      host_.evict_next(*slot);
  }
}

}  // namespace engine
