#pragma once
#include <optional>

#include "sweeps/archive/reader.hpp"
#include "workers/bounds/cell_bound.hpp"

namespace driver {

/// What the turns of a cell found cached when they were first admitted.
struct CacheUse {
  double hits = 0;                 // part of the prompt tokens
  double missed_blocks = 0;        // whole blocks of prompts before the last token
  double least_missed_blocks = 0;  // by MIN, with the turns served in the same order
  double compulsory_blocks = 0;    // of these, those that no turn had filled before
};

/// Of the result with this key; empty where the archive lacks its turns. `blocks`: of its
/// workload. Throws sweep::ArchiveDamaged.
std::optional<CacheUse> cache_use_of(sweep::ArchiveReader& archive, const std::string& key,
                                     const worker::ExperimentConfig& config,
                                     const bounds::TurnBlocks& blocks);

}  // namespace driver
