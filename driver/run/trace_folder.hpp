#pragma once
#include <filesystem>
#include <string>

#include "driver/plan/plan.hpp"

namespace driver {

/// Writes <folder>/cell-NNN.{steps,events,requests}.jsonl for every selected cell that has a result
/// in the archive (NNN: the plan index), and <folder>/cells.jsonl with a line for every selected
/// cell.
void write_trace_folder(const std::filesystem::path& folder, const Plan& plan,
                        const std::string& archive);

/// Creates the folder, so a wrong path is reported before anything runs. Throws UsageError.
void make_trace_folder(const std::filesystem::path& folder);

}  // namespace driver
