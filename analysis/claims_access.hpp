#pragma once
#include <optional>
#include <span>
#include <string>

#include "analysis/claims.hpp"

namespace analysis {

/// A number of the accesses to KV that cells logged (docs/access-log.md), the mean over the cells:
///   prefill_reads   accesses that read KV for prompts
///   behind_keys     share of the blocks that decodes read, by step and head, whose values are read
///                   after their keys
///   ascending       share of a warp's reads in decodes that go on in the same block or a later one
///   read_spread     how far apart a step's requests are first read, of their kernel's time; median
///                   over steps of more than one decode
///   write_spread    the same of the blocks that a prefill first writes
///   idle            share of the time in which a block is not touched; median over keys' and
///                   values'
/// NaN where the log has no such accesses; nothing for a name that is none of these.
std::optional<double> access_metric(const std::string& name,
                                    std::span<const ConfiguredCell* const> cells,
                                    const LoadTable& load);

}  // namespace analysis
