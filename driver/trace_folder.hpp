#pragma once
#include <filesystem>
#include <string>

#include "driver/plan.hpp"

namespace driver {

/// Writes <folder>/cell-NNN.{steps,events,requests}.jsonl for every selected cell that has a result
/// in the archive, NNN being its place in the plan, and <folder>/cells.jsonl with a line for every
/// selected cell.
void write_trace_folder(const std::filesystem::path& folder, const Plan& plan,
                        const std::string& archive);

/// Makes the folder, so that a wrong path shows before anything runs. Throws UsageError.
void make_trace_folder(const std::filesystem::path& folder);

}  // namespace driver
