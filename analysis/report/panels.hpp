#pragma once
// Private to this room: the cells of archives, arranged for a report.
#include <deque>
#include <span>
#include <vector>

#include "analysis/report/report.hpp"

namespace analysis {

/// A panel for each place, in the order of the rows; reads the tables of the cells in their order.
std::vector<ReportPanel> make_panels(std::span<const RateRow> rows,
                                     const std::deque<ConfiguredCell>& cells,
                                     const CellOrigins& origins,
                                     std::span<const Published> published);

}  // namespace analysis
