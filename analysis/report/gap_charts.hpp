#pragma once
#include <vector>

#include "analysis/report/chart.hpp"
#include "analysis/report/report.hpp"

namespace analysis {

/// One job's KV in a gap, under every policy; a chart for each rate.
void add_gap_charts(std::vector<Chart>& charts, const ReportPanel& panel);

}  // namespace analysis
