#pragma once
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analysis/access_charts.hpp"
#include "analysis/claims.hpp"
#include "analysis/compare_config.hpp"
#include "analysis/report_digest.hpp"
#include "analysis/report_gap.hpp"
#include "analysis/statistics.hpp"
#include "analysis/study_charts.hpp"
#include "sweeps/archive_reader.hpp"

namespace analysis {

/// The figures that summary tables offer, the first by default.
inline constexpr std::array<std::string_view, 8> kReportMetrics = {
    "jct_wall_mean_s", "jct_wall_p99_s",  "jct_turns_mean_s", "ttft_mean_s",
    "queue_mean_s",    "prefix_hit_rate", "output_tok_per_s", "makespan_s"};

/// What was planned and is not there, or took part, of one archive.
struct ReportArchive {
  std::string name;  // of the file, without its folder
  std::string sweep, question, spec, created_utc, tool_version;
  sweep::Table provenance;
  int cells = 0, ok = 0;
};

/// A number over the repeats of a cell.
struct Repeated {
  std::string unit;
  double mean = sweep::kNotObserved;
  Interval interval{sweep::kNotObserved, sweep::kNotObserved};  // 95 %; NaN for a single repeat
  double ratio = sweep::kNotObserved;                           // to fcfs of the same rate
  Interval ratio_interval{sweep::kNotObserved, sweep::kNotObserved};
  bool best = false;  // of the variants at this rate
  bool tied = false;  // cannot be told from the best; true of the best itself when others are
  double published = sweep::kNotObserved;
};

/// The repeats of one policy variant at one arrival rate.
struct ReportGroup {
  std::string jps, variant, dram;                        // dram "-": no host tier
  std::vector<const ConfiguredCell*> repeats;            // with a result, by seed
  std::map<std::string, Repeated, std::less<>> figures;  // by metric
  StepDigest steps;
  JobDigest jobs;
  std::vector<CellTimes> times;  // of each repeat
};

/// Cells whose numbers may stand side by side: one kind of figures, one card, equal settings.
struct ReportPanel {
  std::string kind;      // "MODELLED (sim, published)", "MEASURED (cuda)"
  std::string gpu;       // as the cells name it
  std::string settings;  // "workload.gap_s=1", or empty
  std::string devices;   // what the workers found: "NVIDIA H200, 141 GiB"; empty in simulations
  std::vector<std::string> rates, variants;
  std::vector<ReportGroup> groups;   // in plan order, those without results left out
  std::vector<OneGap> gaps;          // at most one a rate
  std::vector<std::string> sources;  // of published values that appear
  std::vector<std::string> remarks;  // what the reader must know to compare the columns
};

/// The best policy on a card with so much host memory at a rate, among those that need none and
/// those with that much.
struct Regime {
  std::string kind, settings, gpu, dram, jps;
  std::string winner, runner_up;
  std::vector<std::string> tied;  // not distinguishable from the winner, best first
  double value = sweep::kNotObserved, runner_value = sweep::kNotObserved;
  double margin = sweep::kNotObserved;  // runner_value / value - 1
  Interval margin_interval{sweep::kNotObserved, sweep::kNotObserved};
  std::size_t repeats = 0;
};

/// A planned cell without a result.
struct MissingCell {
  std::string archive, label, status, reason, kind;
  int index = 0;
};

struct Report {
  std::vector<ReportArchive> archives;
  std::vector<ReportPanel> panels;
  std::vector<Regime> regimes;
  std::vector<MissingCell> missing;
  std::vector<StudyChart> studies;
  std::deque<ExternalCell> externals;
  AccessCharts accesses;
  ClaimReport claims;
  std::vector<Published> published;
  // What the panels point into.
  std::deque<sweep::ArchiveReader> readers;
  std::deque<ConfiguredCell> cells;

  Report() = default;
  Report(Report&&) = default;
  Report& operator=(Report&&) = default;
  Report(const Report&) = delete;
};

/// Reads archives, every table once. A cell that several have counts once. Files that
/// names_external() tells are results from elsewhere, which stand beside studies' figures and count
/// nowhere else. `profiles` is sweeps/ with its claims/ and published/. Throws what ArchiveReader
/// and load_external() throw; SpecError without an archive.
Report make_report(const std::vector<std::string>& files, const std::filesystem::path& profiles);

/// "MODELLED (sim, published)": what figures may stand side by side.
std::string figures_kind(const ConfiguredCell& cell);

/// The line of this metric that the steps of a panel's card were published with, such as
/// "slope_us:max_tok", where the panel has cells that the claim is about. NaN otherwise.
double published_fit(const ClaimReport& claims, const std::string& metric,
                     const ReportPanel& panel);

/// The comment at the top of a sweep file, in one line.
std::string question_of(const std::string& spec);

}  // namespace analysis
