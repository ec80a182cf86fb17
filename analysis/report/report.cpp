#include "analysis/report/report.hpp"

#include "analysis/ranking/sentences.hpp"
#include "analysis/report/page_parts.hpp"

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

std::string device_text(const sweep::CellRun& run) {
  if (run.gpu_name.empty()) return "";
  const std::int64_t gib = run.gpu_memory_bytes >> 30;
  return run.gpu_name + (gib > 0 ? ", " + std::to_string(gib) + " GiB" : "");
}

/// The parts that charts of cells of this level lack; empty for none.
std::string without_tables(sweep::RecordLevel level) {
  if (level == sweep::RecordLevel::all) return "";
  return "some cells are stored at the level " + std::string(sweep::to_text(level)) +
         ", without their steps and KV events" +
         (level == sweep::RecordLevel::summary ? ", jobs and turns" : "") +
         ": charts of these leave them out";
}

/// Forms panels from rows, then reads the tables of each cell once.
class PanelBuilder {
 public:
  explicit PanelBuilder(const CellOrigins& origins) : origins_(origins) {}

  void add(const RateRow& row, std::span<const Published> published) {
    ReportPanel* const panel = &item_with(panels_, &ReportPanel::place, row.place);
    add_once(panel->rates, row.jps);
    for (const std::string& remark : remarks_on(row)) add_once(panel->remarks, remark);
    const std::size_t first = panel->groups.size();
    for (const PolicyCells& policy : row.policies) {
      add_once(panel->variants, policy.variant);
      const Spot spot{static_cast<std::size_t>(panel - panels_.data()), panel->groups.size()};
      for (const ConfiguredCell* cell : policy.repeats) spots_[cell] = spot;
      const auto keys = mapped(policy.repeats, [](const auto* cell) { return cell->record->key; });
      panel->groups.push_back(
          {policy, row.jps, named_cells(keys, origins_), {}, tail_of(row, policy), {}, {}});
    }
    for (const std::string_view metric : kReportMetrics) {
      const std::vector<Rated> rated = rate(row, std::string(metric), published, panel->sources);
      for (std::size_t i = 0; i < rated.size(); ++i)
        panel->groups[first + i].figures[std::string(metric)] = rated[i];
    }
  }

  void read(const ConfiguredCell& cell) {
    const auto spot = spots_.find(&cell);
    if (spot == spots_.end()) return;
    ReportPanel& panel = panels_[spot->second.panel];
    ReportGroup& group = panel.groups[spot->second.group];
    const std::string device = device_text(cell.record->run);
    if (!device.empty() && panel.devices.find(device) == std::string::npos)
      panel.devices += (panel.devices.empty() ? "" : "; ") + device;
    if (const std::string lacks = without_tables(cell.record->level); !lacks.empty())
      add_once(panel.remarks, lacks);
    digest(cell, group);
    if (group.repeats.front() == &cell) tell(cell, panel, group);
  }

  std::vector<ReportPanel> finish() {
    const bool several_kinds = kinds_of(panels_).size() > 1;
    for (ReportPanel& panel : panels_)
      panel.name = (several_kinds ? panel.place.kind + ", " : "") + panel.place.name();
    return std::move(panels_);
  }

 private:
  struct Spot {
    std::size_t panel, group;
  };

  void digest(const ConfiguredCell& cell, ReportGroup& group) const {
    const sweep::Table jobs = cell.load("jobs"), turns = cell.load("turns");
    group.jobs.add(digest_jobs(jobs, turns));
    group.steps.add(digest_steps(cell.load("steps")));
  }

  /// The first policy at a rate chooses the gap; the others show the same one.
  void tell(const ConfiguredCell& cell, ReportPanel& panel, ReportGroup& group) {
    if (!cell.record->has_result(sweep::RecordLevel::all)) return;
    const sweep::Table turns = cell.load("turns"), events = cell.load("kv_events");
    if (std::ranges::count(panel.gaps, group.jps, &ComparedGap::jps) == 0)
      panel.gaps.push_back({group.jps, choose_gap(cell.load("jobs"), turns), {}});
    ComparedGap& compared = item_with(panel.gaps, &ComparedGap::jps, group.jps);
    GapTimeline timeline;
    timeline.variant = group.variant;
    if (replay_gap(compared.gap, turns, events, block_tokens(cell), timeline))
      compared.timelines.push_back(std::move(timeline));
  }

  const CellOrigins& origins_;
  std::vector<ReportPanel> panels_;
  std::map<const ConfiguredCell*, Spot> spots_;
};

}  // namespace

std::string named_cells(const std::vector<std::string>& keys, const CellOrigins& origins) {
  std::map<std::string, std::set<int>> cells;  // by archive
  for (const std::string& key : keys)
    if (const auto known = origins.find(key); known != origins.end())
      cells[known->second.first].insert(known->second.second);
  std::string text;
  for (const auto& [archive, numbers] : cells) {
    text += (text.empty() ? "" : "; ") + std::string(numbers.size() == 1 ? "cell " : "cells ") +
            listed(ranges_of(numbers, 3)) + " of " + archive;
  }
  return text;
}

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
  std::vector<CapacityReport> capacities = mapped(report.readers, capacity_report);
  collect_cells(report, capacities);
  const std::vector<RateRow> rows = arrange(with_results(report.cells));
  report.panels = make_panels(rows, report.cells, report.origins, report.published);
  report.policies = policy_tables(rows, std::string(kAnswerFigure), report.published);
  report.regimes = regimes_of(rows, kAnswerFigure);
  report.answer = answer_of(rows);
  report.claims = run_claims(report.readers, "", profiles);
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

std::vector<ReportPanel> make_panels(std::span<const RateRow> rows,
                                     const std::deque<ConfiguredCell>& cells,
                                     const CellOrigins& origins,
                                     std::span<const Published> published) {
  PanelBuilder builder(origins);
  for (const RateRow& row : rows) builder.add(row, published);
  for (const ConfiguredCell& cell : cells) builder.read(cell);
  return builder.finish();
}

}  // namespace analysis
