#pragma once
// Private to this room: the charts of one card.
#include <string>
#include <vector>

#include "analysis/report/chart.hpp"
#include "analysis/report/report.hpp"

namespace analysis {

/// Every chart of the panel, for each choice that a reader has: rate ("all" too), policy, tokens
/// and turns.
std::vector<Chart> panel_charts(const ReportPanel& panel);

/// Mean and 99th percentile of job completion over the arrival rate.
Chart load_chart(const ReportPanel& panel);
/// One job's KV in a gap, under every policy; a chart for each rate.
void add_gap_charts(std::vector<Chart>& charts, const ReportPanel& panel);

/// A chart of the panel without its data.
Chart start_chart(const ReportPanel& panel, const char* id, const char* title,
                  std::map<std::string, std::string> at);
ChartSeries series_of_policy(const std::string& variant, std::size_t repeats);

/// "6 jobs/s", "all rates together".
std::string rate_text(const std::string& jps);

}  // namespace analysis
