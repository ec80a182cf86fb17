#pragma once
#include <deque>
#include <string>
#include <vector>

#include "analysis/report/chart.hpp"
#include "analysis/report/panels.hpp"

namespace analysis {

/// Charts of the first cells that logged accesses, and the reasons why others have none. Throws
/// what ArchiveReader throws.
std::vector<Chart> make_access_charts(const std::deque<ConfiguredCell>& cells,
                                      const PanelSources& sources,
                                      std::vector<std::string>& left_out);

}  // namespace analysis
