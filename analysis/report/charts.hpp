#pragma once
// Private to this room: the charts of archives that are not of a panel. All throw what
// ArchiveReader throws.
#include <deque>
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/compare/config.hpp"
#include "analysis/report/chart.hpp"

namespace analysis {

/// Charts of the first cells that logged accesses, and the reasons why others have none.
std::vector<Chart> make_access_charts(const std::deque<ConfiguredCell>& cells,
                                      std::vector<std::string>& left_out);

/// Every figure with cells in the archives, as a chart "study" at its study and figure: figures of
/// folder/published, and of the archives' sweep files. A chart is over cells of one kind of
/// figures, and of one card unless it compares cards. Throws SpecError, too.
std::vector<Chart> make_study_charts(std::deque<sweep::ArchiveReader>& archives,
                                     const std::filesystem::path& folder);

}  // namespace analysis
