#pragma once
#include <string>

#include "analysis/report/plain.hpp"
#include "analysis/text/json_line.hpp"

namespace analysis {

/// The report as one JSON object, described in analysis/web/src/report/data.ts. Numbers have six
/// significant digits, those that tables show all; null is a value that was
/// not observed. `program` is the version that wrote it.
std::string report_json(const Report& report, const std::string& program);

// Parts of it.
/// `archive` names the archive of its cells, if there is only one.
void add_panel(JsonLine& json, const ReportPanel& panel, const std::string& archive);
/// Writes a number with all its digits: what a reader sees is rounded once, from the exact value.
JsonLine& add_exact(JsonLine& json, double value);
/// Writes a number with six significant digits.
JsonLine& add_brief(JsonLine& json, double value);
void add_table(JsonLine& json, const ReportTable& table);
void add_interval(JsonLine& json, const Interval& interval);
void add_texts(JsonLine& json, std::span<const std::string> texts);

}  // namespace analysis
