#pragma once
// Private to this room: charts and tables of the page. All throw what ArchiveReader throws.
#include <deque>
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/report/report.hpp"
#include "analysis/text/text_table.hpp"

namespace analysis {

/// Every chart of the panel, for each choice that a reader has: rate ("all" too), policy, tokens
/// and turns.
std::vector<Chart> panel_charts(const ReportPanel& panel);

/// One job's KV in a gap, under every policy; a chart for each rate.
void add_gap_charts(std::vector<Chart>& charts, const ReportPanel& panel);

/// A chart of the panel without its data.
Chart start_chart(const ReportPanel& panel, const char* id, const char* title,
                  std::map<std::string, std::string> at);

/// "6 jobs/s", "all rates together".
std::string rate_text(const std::string& jps);

/// A table of a report: its part of the page, a heading, the kind of its numbers, and texts in
/// rows.
struct ReportTable {
  std::string part, heading, kind;
  Grid grid;
  std::vector<std::string> notes{};
  std::vector<std::string> sources{};  // where the numbers of each row come from, if it says so
};

/// The tables of a report: a summary for each panel, regimes, fits, claims, and cells without
/// results.
std::vector<ReportTable> report_tables(const Report& report);

/// The acts of a panel's policies at a rate; columns in which none did anything are left out.
ReportTable acts_table(const ReportPanel& panel, const std::string& rate);

/// Charts of the first cells that logged accesses, and the reasons why others have none.
std::vector<Chart> make_access_charts(const std::deque<ConfiguredCell>& cells,
                                      std::vector<std::string>& left_out);

/// Every figure with cells in the archives, as a chart "study" at its study and figure: figures of
/// folder/published, and of the archives' sweep files. A chart is over cells of one kind of
/// figures, and of one card unless it compares cards. Throws SpecError, too.
std::vector<Chart> make_study_charts(std::deque<sweep::ArchiveReader>& archives,
                                     const std::filesystem::path& folder);

/// A column of /steps by forward pass, or "window_use": tokens of the pass in % of its token
/// budget.
std::vector<double> forward_values(const sweep::Table& steps, const std::string& column);

/// Adds the KV use of device and host in % over time, as two series, and the evictions.
void add_kv_use(ChartPanel& panel, const sweep::Table& steps, const sweep::Table& evictions);

/// Adds the states of every request: prefill, decode, waits and copies.
void add_request_spans(ChartPanel& panel, const sweep::Table& steps, const sweep::Table& sched,
                       const sweep::Table& evictions);

}  // namespace analysis
