#pragma once
#include <deque>
#include <filesystem>
#include <vector>

#include "analysis/report/chart.hpp"
#include "sweeps/archive/reader.hpp"

namespace analysis {

/// Every figure with cells in the archives, as a chart "study" at its study and figure: figures of
/// folder/published, and of the archives' sweep files. A chart is over cells of one kind of
/// figures, and of one card unless it compares cards. Throws SpecError and what ArchiveReader
/// throws.
std::vector<Chart> make_study_charts(std::deque<sweep::ArchiveReader>& archives,
                                     const std::filesystem::path& folder);

}  // namespace analysis
