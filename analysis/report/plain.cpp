#include "analysis/report/plain.hpp"

#include <sstream>

#include "analysis/report/tables.hpp"
#include "analysis/text/json.hpp"

namespace analysis {
namespace {

constexpr const char* kHead = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>kvsweep report</title>
<style>:root { color-scheme: light dark } pre { white-space: pre-wrap }</style></head><body>
)";

/// As text of HTML.
std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '&')
      safe += "&amp;";
    else if (c == '<')
      safe += "&lt;";
    else
      safe += c;
  }
  return safe;
}

void write_texts(const Report& report, std::ostream& out) {
  for (const ReportArchive& each : report.archives)
    out << each.name << ": " << each.ok << " of " << each.cells << " cells of " << each.sweep
        << " have a result. " << each.question << '\n';
  out << '\n' << report.answer.heading << '\n';
  for (const AnswerLine& line : report.answer.lines) out << line.text() << '\n';
  for (const ReportTable& table : report_tables(report)) {
    out << "\n\n" << table.heading << (table.kind.empty() ? "" : ", ") << table.kind << "\n\n";
    print_text(table.grid, out);
    for (const std::string& note : table.notes) out << note << '\n';
  }
}

}  // namespace

void write_plain_report(const Report& report, const std::string& why, std::ostream& out) {
  std::ostringstream texts;
  write_texts(report, texts);
  out << kHead << "<h1>kvsweep report</h1>\n<p>" << escaped(why) << "</p>\n<pre>"
      << escaped(texts.str()) << "</pre>\n</body></html>\n";
  check_written(out);
}

}  // namespace analysis
