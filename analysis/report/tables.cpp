#include "analysis/report/page_parts.hpp"

#include <algorithm>
#include <cmath>

namespace analysis {
namespace {

std::string percent_text(double fraction) {
  return std::isnan(fraction) ? "-" : in_percent(fraction) + " %";
}

/// "continuum = fcfs" if the two tie, "continuum ? pin" if the repeats do not tell them apart.
std::string winners(const Regime& regime) {
  std::string names = regime.winner;
  for (const std::string& each : regime.tied) names += " = " + each;
  for (const Regime::Other& each : regime.undecided) names += " ? " + each.name;
  return names;
}

std::string tail_text(const Regime& regime) {
  const std::string worse = worse_text(regime.tails);
  return p99_text(regime.tails) + (worse.empty() ? "" : ", but " + worse);
}

std::string next_text(const Regime& regime) {
  return regime.next.empty() ? "-" : sweep::joined(names_of(regime.next), " = ");
}

/// As `kvsweep table` prints it.
ReportTable summary_of(const PolicyTable& table) {
  ReportTable summary{"summary", table.place.whole_name() + ": " + table.figure, table.place.kind,
                      grid_of(table), table.remarks};
  for (const std::string& source : table.sources) summary.notes.push_back("published: " + source);
  return summary;
}

ReportTable regime_table(const Report& report, const std::string& kind) {
  ReportTable table{"regimes",
                    "What is best where",
                    kind,
                    {},
                    {"margin: by how much the next is slower; =: less than 1 % apart; ?: the "
                     "repeats do not tell it from the winner (Holm's rule, 5 %)"}};
  table.grid.columns = {{"gpu", "", false},  {"host memory [GiB]", "", false},
                        {"jps", "", false},  {"winner", "", false},
                        {"next", "", false}, {"margin", ""},
                        {"95 %", "", false}, {"tail", "", false},
                        {"repeats", ""}};
  for (const Regime& each : report.regimes) {
    if (each.place.kind != kind) continue;
    const Ratio ratio = each.next.empty() ? Ratio() : each.next.front().over_winner;
    table.grid.rows.push_back({each.place.whole_name(), each.dram, each.jps, winners(each),
                               next_text(each), percent_text(ratio.value - 1),
                               interval_text({ratio.interval.low - 1, ratio.interval.high - 1}),
                               tail_text(each), std::to_string(each.repeats)});
  }
  return table;
}

std::vector<ReportTable> missing_tables(const Report& report) {
  std::vector<ReportTable> tables;
  for (const ReportArchive& archive : report.archives) {
    ReportTable table{"missing", "Cells without results: " + archive.name, "", {}};
    table.grid.columns = {{"cell", ""},
                          {"what was planned", "", false},
                          {"status", "", false},
                          {"reason", "", false},
                          {"figures", "", false}};
    for (const MissingCell& cell : report.missing)
      if (cell.archive == archive.name)
        table.grid.rows.push_back({std::to_string(cell.index), cell.label, cell.status,
                                   cell.reason.empty() ? "not run yet" : cell.reason, cell.kind});
    if (!table.grid.rows.empty()) tables.push_back(std::move(table));
  }
  if (tables.empty())
    tables.push_back(
        {"missing", "Cells without results", "", {}, {"None: every planned cell has a result."}});
  return tables;
}

/// One thing that policies do, in a text; "-" if it was not observed.
struct Act {
  const char* name;
  std::string (*text_of)(const ReportGroup& group);
};

double figure_of(const ReportGroup& group, const char* name) {
  return mean_of(by_seed(group.repeats, name)).value;
}

/// The share of the KV pool that pins hold, averaged over time and repeats.
double pinned_share_of(const ReportGroup& group) {
  const double pool_tok =
      figure_of(group, "gpu_blocks") * number_of(group.repeats.front()->value("engine.block_size"));
  return figure_of(group, "gap_held_tok_s") / figure_of(group, "makespan_s") / pool_tok;
}

std::string gib_text(const ReportGroup& group, const char* bytes) {
  return four_digits(std::round(figure_of(group, bytes) / (1 << 20)) / 1024);
}

const Act kActs[] = {
    {"pool pinned", [](const ReportGroup& group) { return percent_text(pinned_share_of(group)); }},
    {"found on GPU",
     [](const ReportGroup& group) { return percent_text(figure_of(group, "prefix_hit_rate")); }},
    {"found on host",
     [](const ReportGroup& group) { return percent_text(figure_of(group, "host_hit_rate")); }},
    {"recomputed",
     [](const ReportGroup& group) { return four_digits(figure_of(group, "recomputed_tok")); }},
    {"GiB to GPU", [](const ReportGroup& group) { return gib_text(group, "h2d_bytes"); }},
    {"GiB to host", [](const ReportGroup& group) { return gib_text(group, "d2h_bytes"); }},
    {"GiB unread", [](const ReportGroup& group) { return gib_text(group, "unread_bytes"); }},
    {"preemptions",
     [](const ReportGroup& group) { return four_digits(figure_of(group, "preemptions")); }},
    {"stalled", [](const ReportGroup& group) {
       return percent_text(figure_of(group, "stall_s") / figure_of(group, "makespan_s"));
     }}};

}  // namespace

ReportTable acts_table(const ReportPanel& panel, const std::string& rate) {
  ReportTable table{"acts", panel.name + ", " + rate_text(rate), panel.place.kind, {}};
  std::vector<const ReportGroup*> groups;
  for (const ReportGroup& group : panel.groups)
    if (group.jps == rate) groups.push_back(&group);
  table.grid.columns = {{"policy", "", false}};
  for (const ReportGroup* group : groups) {
    table.grid.rows.push_back({group->variant});
    table.sources.push_back(group->from);
  }
  for (const Act& act : kActs) {
    const auto texts = mapped(groups, [&](const auto* group) { return act.text_of(*group); });
    if (std::ranges::all_of(texts, [](const std::string& text) {
          return text == "0" || text == "-" || text == "0 %";
        }))
      continue;
    table.grid.columns.push_back({act.name, ""});
    for (std::size_t i = 0; i < texts.size(); ++i) table.grid.rows[i].push_back(texts[i]);
  }
  return table;
}

std::vector<ReportTable> report_tables(const Report& report) {
  std::vector<ReportTable> tables;
  for (const CapacityReport& each : report.capacities)
    tables.push_back({"capacity", "Capacity within limits", each.kind, each.grid, each.notes});
  for (const PolicyTable& table : report.policies) tables.push_back(summary_of(table));
  for (const std::string& kind : kinds_of(report.panels))
    tables.push_back(regime_table(report, kind));
  for (ClaimTable& each : claim_tables(report.claims)) {
    tables.push_back({"claims", each.set + ": " + each.verdicts, each.kind, std::move(each.grid)});
    for (const ClaimRow& row : each.rows)
      tables.back().sources.push_back(named_cells(row.cells, report.origins));
  }
  for (ReportTable& table : missing_tables(report)) tables.push_back(std::move(table));
  return tables;
}

}  // namespace analysis
