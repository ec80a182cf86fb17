#include "analysis/report/panels.hpp"

#include <algorithm>

#include "analysis/report/cell_names.hpp"
#include "analysis/text/list.hpp"

namespace analysis {
namespace {

std::string device_text(const sweep::CellRun& run) {
  if (run.gpu_name.empty()) return "";
  const std::int64_t gib = run.gpu_memory_bytes >> 30;
  return run.gpu_name + (gib > 0 ? ", " + std::to_string(gib) + " GiB" : "");
}

/// What charts lack that show cells of this level; empty for nothing.
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
      std::vector<std::string> keys;
      for (const ConfiguredCell* cell : policy.repeats) keys.push_back(cell->record->key);
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
  /// Where the results of a cell go.
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
