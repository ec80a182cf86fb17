#pragma once
#include <string>

#include "analysis/json_line.hpp"
#include "analysis/report.hpp"

namespace analysis {

/// The report as one JSON object, which analysis/web/src/report/data.ts describes. Numbers have six
/// significant digits, null stands for what was not observed. `program` is the version that made
/// it.
std::string report_json(const Report& report, const std::string& program);

// Parts of it.
void add_panel(JsonLine& json, const ReportPanel& panel);
void add_study(JsonLine& json, const StudyChart& chart);
void add_access(JsonLine& json, const AccessChart& chart);
void add_external(JsonLine& json, const ExternalCell& cell);
/// With six significant digits.
JsonLine& add_brief(JsonLine& json, double value);
void add_interval(JsonLine& json, const Interval& interval);
void add_texts(JsonLine& json, std::span<const std::string> texts);

}  // namespace analysis
