#include "analysis/report/report.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include "analysis/compare/config.hpp"
#include "analysis/report/charts.hpp"
#include "analysis/report/panels.hpp"

namespace analysis {
namespace {

ReportArchive describe(const sweep::ArchiveReader& reader, const std::string& path) {
  const auto count = [&](sweep::CellStatus status) {
    return static_cast<int>(std::ranges::count(reader.cells(), status, &sweep::CellRecord::status));
  };
  const int planned = static_cast<int>(reader.cells().size()) - count(sweep::CellStatus::excluded);
  return {std::filesystem::path(path).filename().string(),
          reader.sweep_name(),
          question_of(reader.spec_text()),
          reader.spec_text(),
          reader.created_utc(),
          reader.tool_version(),
          reader.provenance(),
          planned,
          count(sweep::CellStatus::ok)};
}

/// Collects cells with results first: a result that one archive lacks may be in another. Loads and
/// seeds of live agents would be a panel each, so that capacities alone show these cells.
void collect_cells(Report& report, std::span<const CapacityReport> capacities) {
  std::set<std::string> keys;
  for (const bool has_result : {true, false}) {
    for (std::size_t i = 0; i < report.readers.size(); ++i) {
      const std::string& archive = report.archives[i].name;
      for (const sweep::CellRecord& record : report.readers[i].cells()) {
        if ((record.status == sweep::CellStatus::ok) != has_result) continue;
        if (!keys.insert(record.key).second || (has_result && capacities[i].of_live)) continue;
        ConfiguredCell& cell = report.cells.emplace_back(record, report.readers[i]);
        derive_figures(cell, report.readers[i], record.index);
        if (has_result) report.origins[record.key] = {archive, record.index};
        const bool is_needed = record.status != sweep::CellStatus::excluded ||
                               capacities[i].grid.columns.empty();  // by a search
        if (!has_result && is_needed)
          report.missing.push_back({archive, record.label,
                                    std::string(sweep::to_text(record.status)), record.reason,
                                    figures_kind(cell), record.index});
      }
    }
  }
}

}  // namespace

std::string question_of(const std::string& spec) {
  std::string question;
  for (std::size_t at = 0; at < spec.size() && spec[at] == '#';) {
    const std::size_t end = std::min(spec.find('\n', at), spec.size());
    std::string line = spec.substr(at + 1, end - at - 1);
    line.erase(0, line.find_first_not_of(" \t"));
    line.erase(line.find_last_not_of(" \t\r") + 1);
    question += (question.empty() || line.empty() ? "" : " ") + line;
    at = end + 1;
  }
  return question;
}

Report make_report(const std::vector<std::string>& archives,
                   const std::filesystem::path& profiles) {
  Report report;
  for (const std::string& path : archives) {
    report.readers.emplace_back(path);
    report.archives.push_back(describe(report.readers.back(), path));
  }
  report.published = all_published(profiles / "published");
  std::vector<CapacityReport> capacities;
  for (sweep::ArchiveReader& reader : report.readers) capacities.push_back(capacity_report(reader));
  collect_cells(report, capacities);
  const std::vector<RateRow> rows = arrange(with_results(report.cells));
  report.panels = make_panels(rows, report.cells, report.origins, report.published);
  report.policies = policy_tables(rows, std::string(kAnswerFigure), report.published);
  report.regimes = regimes_of(rows, kAnswerFigure);
  report.answer = answer_of(rows);
  report.claims = claims_in(profiles);
  judge(report.claims, report.readers);
  for (CapacityReport& each : capacities) {
    std::ranges::move(each.charts, std::back_inserter(report.studies));
    // Without limits there are fronts alone.
    if (!each.grid.columns.empty()) report.capacities.push_back(std::move(each));
  }
  std::ranges::move(make_study_charts(report.readers, profiles),
                    std::back_inserter(report.studies));
  report.accesses = make_access_charts(report.cells, report.accesses_left_out);
  return report;
}

}  // namespace analysis
