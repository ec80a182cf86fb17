#pragma once
#include <string>

#include "analysis/report/report.hpp"

namespace analysis {

/// The report as one JSON object, described in analysis/web/src/report/data.ts. What charts draw
/// has six significant digits, all else every digit: a reader sees it rounded once. null is a value
/// that was not observed. `program` is the version that wrote it.
std::string report_json(const Report& report, const std::string& program);

}  // namespace analysis
