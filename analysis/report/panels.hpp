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
};
using PanelSources = std::map<const ConfiguredCell*, PanelSource>;

/// Panels in the order of their first cells. Cells without a source are left out.
std::vector<ReportPanel> make_panels(const std::deque<ConfiguredCell>& cells,
                                     const PanelSources& sources,
                                     std::span<const Published> published);

/// Charts of the first cells that logged accesses. Throws what ArchiveReader throws.
AccessCharts make_access_charts(const std::deque<ConfiguredCell>& cells,
                                const PanelSources& sources);

/// Fills the figures of every group: over its repeats, relative to fcfs, relative to the others.
void rate_panel(ReportPanel& panel, std::span<const Published> published);

/// One entry per panel, size of host memory and rate, by jct_wall_mean_s.
std::vector<Regime> regimes_of(std::span<const ReportPanel> panels);
std::vector<PolicyCells> policy_cells(std::span<const ReportPanel> panels);

}  // namespace analysis
