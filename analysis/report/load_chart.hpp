#pragma once
#include "analysis/report/chart.hpp"
#include "analysis/report/report.hpp"

namespace analysis {

/// Mean and 99th percentile of job completion over the arrival rate.
Chart load_chart(const ReportPanel& panel);

}  // namespace analysis
