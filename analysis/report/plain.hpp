#pragma once
#include <iosfwd>
#include <string>

#include "analysis/report/report.hpp"

namespace analysis {

/// Writes the answer and the tables of a report as a page without scripts, for a program that was
/// built without its web pages. `why` tells the reader what is missing and why. All texts are
/// escaped. Throws std::system_error when the write fails.
void write_plain_report(const Report& report, const std::string& why, std::ostream& out);

}  // namespace analysis
