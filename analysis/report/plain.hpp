#pragma once
#include <iosfwd>
#include <span>
#include <string>

#include "analysis/report/report.hpp"

namespace analysis {

/// A figure as an SVG file.
struct ReportPicture {
  std::string caption, svg;
};

/// Writes the report as a page without scripts, for a program that was built without its web pages:
/// the tables, and any pictures. `why` tells the reader what is missing and why. All texts are
/// escaped; pictures are shown as images, in which no script runs. Throws std::system_error when
/// the write fails.
void write_plain_report(const Report& report, std::span<const ReportPicture> pictures,
                        const std::string& why, std::ostream& out);

}  // namespace analysis
