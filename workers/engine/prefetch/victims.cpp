#include "workers/engine/prefetch/victims.hpp"

namespace engine {

int PrefetchVictims::trim_host(PausedJob& job, int count) {
  int trimmed = 0;
  for (; job.stored > 0 && trimmed < count; --job.stored)
    trimmed += host_.evict_next(job.contents[static_cast<std::size_t>(job.stored) - 1], job.id);
  return trimmed;
}

void PrefetchVictims::give_up(const PausedJob& job, int kept_blocks) {
  for (auto i = static_cast<std::size_t>(kept_blocks); i < job.contents.size(); ++i) {
    BlockWatch::give_up(job.contents[i]);
    host_.evict_next(job.contents[i], job.id);
  }
}

}  // namespace engine
