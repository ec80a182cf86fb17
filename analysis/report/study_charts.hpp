#pragma once
#include <deque>
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/compare/external_cell.hpp"
#include "analysis/report/chart.hpp"
#include "sweeps/archive/reader.hpp"

namespace analysis {

/// Figures of studies, each a chart "study" at its study and figure: over cells of one kind of
/// figures, and of one card unless it compares cards.
struct StudyCharts {
  std::vector<Chart> charts;
  /// For each external result, the figures that show it: "lab naive".
  std::vector<std::vector<std::string>> shows;
};

/// Every figure with cells in the archives: figures of folder/published, and of the archives' sweep
/// files. An external result is a series of its own beside the cells of its experiment. Throws
/// SpecError and what ArchiveReader throws.
StudyCharts make_study_charts(std::deque<sweep::ArchiveReader>& archives,
                              const std::deque<ExternalCell>& externals,
                              const std::filesystem::path& folder);

}  // namespace analysis
