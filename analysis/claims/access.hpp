#pragma once
#include <optional>
#include <span>
#include <string>

#include "analysis/claims/metrics.hpp"

namespace analysis {

/// A metric of the KV accesses that cells logged (docs/results.md), the mean over the cells:
///   prefill_reads   number of accesses that read KV for prompts
///   behind_keys     share of the blocks read by decodes, by step and head, whose values were read
///                   after their keys
///   ascending       share of a warp's reads in decodes that continue in the same or a later block
///   read_spread     time between the first reads of a step's requests, as a share of the kernel's
///                   time; median over steps with more than one decode
///   write_spread    the same for the first writes to the blocks of a prefill
///   idle            share of the time without an access to a block; median over keys and values
/// NaN if the log has no such accesses; empty for an unknown name.
std::optional<double> access_metric(const std::string& name,
                                    std::span<const ConfiguredCell* const> cells);

}  // namespace analysis
