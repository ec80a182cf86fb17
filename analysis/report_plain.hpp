#pragma once
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "analysis/export_grid.hpp"
#include "analysis/report.hpp"

namespace analysis {

/// A table of a report for people: a heading, what its numbers are, and texts in rows.
struct ReportTable {
  std::string heading, kind;
  Grid grid;
  std::vector<std::string> notes;
};

/// What a report has to say in tables: a summary for each panel, regimes, fits, claims, and cells
/// without results.
std::vector<ReportTable> report_tables(const Report& report);

/// A figure as a file of SVG.
struct ReportPicture {
  std::string caption, svg;
};

/// The report as a page without scripts, for a program that was built without its web pages: the
/// tables, and figures where there are some. `why` says to the reader what is missing and why. All
/// texts are escaped; pictures are shown as images, in which no script runs. Throws
/// std::system_error when the stream refuses it.
void write_plain_report(const Report& report, std::span<const ReportPicture> pictures,
                        const std::string& why, std::ostream& out);

}  // namespace analysis
