#pragma once
// Private to this room: the cells of archives, arranged for a report.
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "analysis/report/report.hpp"

namespace analysis {

/// Where the tables of a cell are.
struct PanelSource {
  sweep::ArchiveReader* reader;
  int row;
  std::string archive;  // its name
};
using PanelSources = std::map<const ConfiguredCell*, PanelSource>;

/// A panel for each place, in the order of the rows; reads the tables of the cells in their order.
std::vector<ReportPanel> make_panels(std::span<const RateRow> rows,
                                     const std::deque<ConfiguredCell>& cells,
                                     const PanelSources& sources,
                                     std::span<const Published> published);

}  // namespace analysis
