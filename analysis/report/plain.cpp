#include "analysis/report/plain.hpp"

#include <cstdint>
#include <ostream>
#include <string_view>

#include "analysis/report/tables.hpp"
#include "analysis/text/json.hpp"
#include "analysis/text/packed.hpp"

namespace analysis {
namespace {

constexpr const char* kHead = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,"><title>kvsweep report</title>
<style>
:root { --page: #f6f7f9; --card: #fff; --text: #1b2430; --muted: #5b6675; --line: #d8dde4; --warn: #a34700 }
@media (prefers-color-scheme: dark) { :root { --page: #10151c; --card: #19212b; --text: #e6ebf2; --muted: #9aa7b8;
  --line: #313c4a; --warn: #ffb066 } }
body { margin: 0 auto; max-width: 1400px; padding: 1rem; background: var(--page); color: var(--text);
  font: 15px/1.45 system-ui, sans-serif }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: .8rem 1rem;
  margin: 0 0 1rem; overflow-x: auto }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { padding: .25em .6em; border-bottom: 1px solid var(--line); text-align: left; white-space: nowrap }
td.n, th.n { text-align: right } .muted { color: var(--muted) } .warn { color: var(--warn) }
td { white-space: pre-wrap; max-width: 60em }
img { max-width: 100%; background: #fff; border-radius: 6px }
</style></head><body>
)";

std::string escaped(const std::string& text) {
  constexpr std::string_view kSpecial = "&<>\"'";
  constexpr const char* kNames[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
  std::string safe;
  for (const char c : text) {
    const std::size_t special = kSpecial.find(c);
    if (special == kSpecial.npos)
      safe += c;
    else
      safe += kNames[special];
  }
  return safe;
}

void write_table(const ReportTable& table, std::ostream& out) {
  out << "<section><h2>" << escaped(table.heading) << "</h2>\n";
  if (!table.kind.empty()) out << "<p class=\"muted\">" << escaped(table.kind) << "</p>\n";
  out << "<table><thead><tr>";
  for (const Grid::Column& column : table.grid.columns) {
    const std::string unit = column.unit.empty() ? "" : " [" + column.unit + ']';
    out << (column.is_number ? "<th class=\"n\">" : "<th>") << escaped(column.name + unit)
        << "</th>";
  }
  out << "</tr></thead><tbody>\n";
  for (const auto& row : table.grid.rows) {
    out << "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i)
      out << (table.grid.columns[i].is_number ? "<td class=\"n\">" : "<td>") << escaped(row[i])
          << "</td>";
    out << "</tr>\n";
  }
  out << "</tbody></table>\n";
  for (const std::string& note : table.notes)
    out << "<p class=\"muted\">" << escaped(note) << "</p>\n";
  out << "</section>\n";
}

void write_archive(const ReportArchive& archive, std::ostream& out) {
  out << "<section><h2>" << escaped(archive.sweep) << "</h2>\n<p>" << escaped(archive.question)
      << "</p>\n<p class=\"muted\">" << escaped(archive.name) << ": " << archive.ok << " of "
      << archive.cells << " cells have a result; created " << escaped(archive.created_utc)
      << " by kvsweep " << escaped(archive.tool_version) << "</p></section>\n";
}

void write_answer(const Report& report, std::ostream& out) {
  const Answer& answer = report.answer;
  if (answer.lines.empty()) return;
  out << "<section><h2>Answer</h2>\n<p class=\"muted\">" << escaped(answer.heading) << "</p>\n";
  for (const AnswerLine& line : answer.lines) out << "<p>" << escaped(line.text()) << "</p>\n";
  for (const AnswerLine& line : answer.why) out << "<p>Why: " << escaped(line.text()) << "</p>\n";
  for (const std::string& line : report.commands)
    out << "<p>What would tell: <code>" << escaped(line) << "</code></p>\n";
  for (const std::string& line : answer.overridden)
    out << "<p class=\"warn\">" << escaped(line) << "</p>\n";
  for (const std::string& line : answer.idle)
    out << "<p class=\"warn\">" << escaped(line) << "</p>\n";
  out << "</section>\n";
}

}  // namespace

void write_plain_report(const Report& report, std::span<const ReportPicture> pictures,
                        const std::string& why, std::ostream& out) {
  out << kHead << "<h1>kvsweep report</h1>\n<p class=\"warn\">" << escaped(why) << "</p>\n";
  write_answer(report, out);
  for (const ReportArchive& archive : report.archives) write_archive(archive, out);
  for (const ReportTable& table : report_tables(report)) write_table(table, out);
  for (const ReportPicture& picture : pictures) {
    out << "<section><h2>" << escaped(picture.caption) << "</h2>\n<img alt=\""
        << escaped(picture.caption) << "\" src=\"data:image/svg+xml;base64,"
        << base64({reinterpret_cast<const std::uint8_t*>(picture.svg.data()), picture.svg.size()})
        << "\"></section>\n";
  }
  out << "</body></html>\n";
  check_written(out);
}

}  // namespace analysis
