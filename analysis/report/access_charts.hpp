#pragma once
#include <deque>
#include <string>
#include <vector>

#include "analysis/compare/config.hpp"
#include "analysis/report/chart.hpp"

namespace analysis {

/// Charts of the first cells that logged accesses, and the reasons why others have none. Throws
/// what ArchiveReader throws.
std::vector<Chart> make_access_charts(const std::deque<ConfiguredCell>& cells,
                                      std::vector<std::string>& left_out);

}  // namespace analysis
