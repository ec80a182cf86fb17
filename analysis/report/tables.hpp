#pragma once
#include <string>
#include <vector>

#include "analysis/report/report.hpp"
#include "analysis/text/text_table.hpp"

namespace analysis {

/// A table of a report: its part of the page, a heading, the kind of its numbers, and texts in
/// rows.
struct ReportTable {
  std::string part, heading, kind;
  Grid grid;
  std::vector<std::string> notes{};
  std::vector<std::string> sources{};  // where the numbers of each row come from, if it says so
};

/// The tables of a report: a summary for each panel, regimes, fits, claims, and cells without
/// results.
std::vector<ReportTable> report_tables(const Report& report);

/// The acts of a panel's policies at a rate; columns in which none did anything are left out.
ReportTable acts_table(const ReportPanel& panel, const std::string& rate);

}  // namespace analysis
