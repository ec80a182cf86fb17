#pragma once
// Private to this room: the charts of one card.
#include <string>
#include <vector>

#include "analysis/report/chart.hpp"
#include "analysis/report/report.hpp"

namespace analysis {

/// Every chart of the panel, for each choice that a reader has: rate ("all" too), policy, repeat,
/// tokens and turns. `archive` names the archive of its cells, if there is only one.
std::vector<Chart> panel_charts(const ReportPanel& panel, const std::string& archive);

/// Mean and 99th percentile of job completion over the arrival rate.
Chart load_chart(const ReportPanel& panel);
/// Throughput against a percentile (its number in kLatencyPercents) of a latency: a dot for each
/// policy and rate.
Chart front_chart(const ReportPanel& panel, Latency latency, std::size_t percent);
/// Charts over the time of single cells.
void add_time_charts(std::vector<Chart>& charts, const ReportPanel& panel,
                     const std::string& archive);
/// One job's KV in a gap, under every policy.
void add_gap_charts(std::vector<Chart>& charts, const ReportPanel& panel);

/// A chart of the panel without its data.
Chart start_chart(const ReportPanel& panel, const char* id, const char* title,
                  std::map<std::string, std::string> at);
ChartSeries series_of_policy(const std::string& variant, std::size_t repeats);

/// "6 jobs/s", "all rates together".
std::string rate_text(const std::string& jps);
inline constexpr const char* kAllRates = "all";
/// "2 repeats"
std::string repeats_text(std::size_t repeats);

}  // namespace analysis
