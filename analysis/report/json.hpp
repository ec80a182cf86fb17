#pragma once
#include <string>

#include "analysis/report/tables.hpp"
#include "analysis/text/json.hpp"

namespace analysis {

/// The report as one JSON object, described in analysis/web/src/report/data.ts. What charts draw
/// has six significant digits, all else every digit: a reader sees it rounded once. null is a value
/// that was not observed. `program` is the version that wrote it.
std::string report_json(const Report& report, const std::string& program);

// Parts of it.
Json json_of(const ReportPanel& panel);
Json json_of(const ReportTable& table);
Json json_of(const Interval& interval);

template <class Items>
Json list_of(const Items& items) {
  Json list = Json::array();
  for (const auto& item : items) list.push_back(json_of(item));
  return list;
}

}  // namespace analysis
