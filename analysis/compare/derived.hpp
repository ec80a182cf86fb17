#pragma once
#include <string_view>

#include "analysis/compare/config.hpp"
#include "sweeps/archive/reader.hpp"

namespace analysis {

/// 99th percentile of the time from a job's arrival to its first token.
inline constexpr std::string_view kFirstTokenP99 = "first_token_p99_s";

/// Adds kFirstTokenP99, which programs before 2.0 did not store, from the cell's jobs, where the
/// archive has them. `row` is the cell's there.
void derive_figures(ConfiguredCell& cell, sweep::ArchiveReader& reader, int row);

}  // namespace analysis
