#include "analysis/report/report.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "analysis/compare/config.hpp"
#include "analysis/report/access_charts.hpp"
#include "analysis/report/panels.hpp"

namespace analysis {
namespace {

ReportArchive describe(const sweep::ArchiveReader& reader, const std::string& path) {
  ReportArchive archive;
  archive.name = std::filesystem::path(path).filename().string();
  archive.sweep = reader.sweep_name();
  archive.spec = reader.spec_text();
  archive.question = question_of(archive.spec);
  archive.created_utc = reader.created_utc();
  archive.tool_version = reader.tool_version();
  archive.provenance = reader.provenance();
  archive.cells =
      static_cast<int>(std::ranges::count_if(reader.cells(), [](const sweep::CellRecord& cell) {
        return cell.status != sweep::CellStatus::excluded;
      }));
  archive.ok = static_cast<int>(
      std::ranges::count(reader.cells(), sweep::CellStatus::ok, &sweep::CellRecord::status));
  return archive;
}

/// Collects cells with results first: a result that one archive lacks may be in another.
void collect_cells(Report& report, PanelSources& sources) {
  std::set<std::string> keys;
  for (const bool has_result : {true, false}) {
    for (std::size_t i = 0; i < report.readers.size(); ++i) {
      for (const sweep::CellRecord& record : report.readers[i].cells()) {
        if ((record.status == sweep::CellStatus::ok) != has_result) continue;
        if (!keys.insert(record.key).second) continue;
        ConfiguredCell& cell = report.cells.emplace_back(record);
        derive_figures(cell, report.readers[i], record.index);
        if (has_result) {
          sources.emplace(&cell,
                          PanelSource{&report.readers[i], record.index, report.archives[i].name});
          continue;
        }
        report.missing.push_back({report.archives[i].name, record.label,
                                  std::string(sweep::to_text(record.status)), record.reason,
                                  figures_kind(cell), record.index});
      }
    }
  }
}

/// Takes the capacities of archives that have them. The loads and seeds of live agents would be a
/// panel each, so their cells are shown by these charts alone.
std::vector<Chart> take_capacities(Report& report, PanelSources& sources) {
  std::vector<Chart> charts;
  std::set<const sweep::ArchiveReader*> shown;
  for (std::size_t i = 0; i < report.readers.size(); ++i) {
    sweep::ArchiveReader& reader = report.readers[i];
    CapacityReport capacity = capacity_report(reader);
    charts.insert(charts.end(), capacity.charts.begin(), capacity.charts.end());
    if (capacity.grid.columns.empty()) continue;  // without limits there are fronts alone
    std::erase_if(report.missing, [&](const MissingCell& cell) {  // not needed for the answer
      return cell.archive == report.archives[i].name && cell.status == "excluded";
    });
    if (capacity.of_live) shown.insert(&reader);
    report.capacities.push_back(std::move(capacity));
  }
  std::deque<ConfiguredCell> others;
  PanelSources their_sources;
  for (ConfiguredCell& cell : report.cells) {
    const auto source = sources.find(&cell);
    if (source != sources.end() && shown.contains(source->second.reader)) continue;
    ConfiguredCell& other = others.emplace_back(std::move(cell));
    if (source != sources.end()) their_sources.emplace(&other, source->second);
  }
  report.cells.swap(others);
  sources.swap(their_sources);
  return charts;
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
  PanelSources sources;
  collect_cells(report, sources);
  const std::vector<Chart> capacities = take_capacities(report, sources);
  const std::vector<RateRow> rows = arrange(with_results(report.cells));
  report.panels = make_panels(rows, report.cells, sources, report.published);
  report.policies = policy_tables(rows, std::string(kAnswerFigure), report.published);
  report.regimes = regimes_of(rows, kAnswerFigure);
  report.answer = answer_of(rows);
  report.claims = run_claims(archives, "", profiles);
  for (const auto& [cell, source] : sources)
    report.origins[cell->record->key] = {source.archive, source.row};
  report.studies = make_study_charts(report.readers, profiles);
  report.studies.insert(report.studies.begin(), capacities.begin(), capacities.end());
  report.accesses = make_access_charts(report.cells, sources, report.accesses_left_out);
  return report;
}

}  // namespace analysis
