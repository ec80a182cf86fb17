#pragma once
#include <deque>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/claims/claims.hpp"
#include "analysis/digest/digest.hpp"
#include "analysis/ranking/policy_table.hpp"
#include "analysis/report/chart.hpp"
#include "analysis/text/text_table.hpp"
#include "sweeps/archive/reader.hpp"

namespace analysis {

/// The charts of an archive with several loads. Of kvsweep capacity: charts at the study
/// "capacity", the capacities of policies and what a GPU yields against interactivity, and the
/// table of all. Of others, the latter charts at the study "interactivity" and no table.
struct CapacityReport {
  std::string kind;      // of the figures
  bool of_live = false;  // agents, with seeds of the workload
  std::vector<Chart> charts;
  Grid grid;
  std::vector<std::string> notes;
};

CapacityReport capacity_report(sweep::ArchiveReader& archive);

/// A job's KV during the gap in which its tool runs, under one policy: from the last token of a
/// turn to the last token of the next.
struct GapTimeline {
  std::string variant;
  double finish_s = 0, return_s = 0;           // the turn ended; the tool returned
  double admit_s = 0, first_s = 0, end_s = 0;  // of the next turn; NaN if it did not occur
  double context_tok = 0;                      // tokens that the turn left in whole blocks
  double found_gpu_tok = 0, found_host_tok = 0, computed_tok = 0;  // prompt of the next turn
  std::vector<std::pair<double, double>> gpu, host;                // (time, tokens from there on)
  std::vector<std::pair<double, double>> pinned;                   // (from, to)
};

/// A gap behind a turn, from 0; turn is -1 when no job has two turns.
struct ChosenGap {
  int job = 0, turn = -1;
  std::string id;  // of the job
};

/// One gap of one job under several policies.
struct ComparedGap {
  std::string jps;
  ChosenGap gap;
  std::vector<GapTimeline> timelines;
};

/// The gap of a cell to show: the middle gap of the middle job.
ChosenGap choose_gap(const sweep::Table& jobs, const sweep::Table& turns);

/// Follows a job's KV by the events of its cell. The hits of the next turn are recorded. In
/// between, the level is what the job had minus the recorded evictions. Returns false when the cell
/// lacks one of the two turns.
bool replay_gap(const ChosenGap& gap, const sweep::Table& turns, const sweep::Table& events,
                int block_tok, GapTimeline& timeline);

/// The archive and the row of a cell, by its key.
using CellOrigins = std::map<std::string, std::pair<std::string, int>>;

/// "cell 3 of a.h5", "cells 0 to 5 and 9 of a.h5; cell 2 of b.h5"
std::string named_cells(const std::vector<std::string>& keys, const CellOrigins& origins);

/// The figures that summary tables offer, the first by default.
inline constexpr std::array<std::string_view, 12> kReportMetrics = {
    "jct_wall_mean_s", "jct_wall_p99_s",  "jct_turns_mean_s", "ttft_mean_s",
    "ttft_p99_s",      kFirstTokenP99,    "admission_p99_s",  "tpot_mean_s",
    "queue_mean_s",    "prefix_hit_rate", "output_tok_per_s", "makespan_s"};

/// One archive of the report: its sweep, its question, and the number of its cells.
struct ReportArchive {
  std::string name;  // file name without its folder
  std::string sweep, question, spec, created_utc, tool_version;
  sweep::Table provenance;
  int cells = 0, ok = 0;
};

/// The repeats of one policy variant at one arrival rate.
struct ReportGroup : PolicyCells {
  std::string jps;
  std::string from;                                   // "cells 3 and 15 of a.h5"
  std::map<std::string, Rated, std::less<>> figures;  // by metric
  Tail tail;
  StepDigest steps;
  JobDigest jobs;
};

/// Cells of one place.
struct ReportPanel {
  Place place;
  std::string name;     // of the place, with its kind where there are several
  std::string devices;  // detected by the workers: "NVIDIA H200, 141 GiB"; empty in simulations
  std::vector<std::string> rates, variants;
  std::vector<ReportGroup> groups;   // in plan order, without groups that have no results
  std::vector<ComparedGap> gaps;     // at most one per rate; without timelines: there is none
  std::vector<std::string> sources;  // sources of the published values shown
  std::vector<std::string> remarks;  // what the reader must know to compare the columns
};

/// A planned cell without a result.
struct MissingCell {
  std::string archive, label, status, reason, kind;
  int index = 0;
};

struct Report {
  std::vector<ReportArchive> archives;
  std::vector<PolicyTable> policies;  // by kAnswerFigure
  std::vector<ReportPanel> panels;
  std::vector<Regime> regimes;
  Answer answer;
  std::vector<MissingCell> missing;
  std::vector<Chart> studies;                  // with those of capacities
  std::vector<CapacityReport> capacities;      // of the archives that have them
  std::vector<Chart> accesses;                 // of the first cells that logged them
  std::vector<std::string> accesses_left_out;  // why others have none
  ClaimReport claims;
  CellOrigins origins;
  std::vector<Published> published;
  // The panels point into these.
  std::deque<sweep::ArchiveReader> readers;
  std::deque<ConfiguredCell> cells;
};

/// Reads archives, every table once. A cell in several archives counts once. `profiles` is sweeps/
/// with its claims/ and published/. Throws what ArchiveReader throws.
Report make_report(const std::vector<std::string>& archives, const std::filesystem::path& profiles);

/// The comment at the top of a sweep file, in one line.
std::string question_of(const std::string& spec);

/// A panel for each place, in the order of the rows; reads the tables of the cells in their order.
std::vector<ReportPanel> make_panels(std::span<const RateRow> rows,
                                     const std::deque<ConfiguredCell>& cells,
                                     const CellOrigins& origins,
                                     std::span<const Published> published);

/// The report as one JSON object, described in analysis/web/src/report/data.ts. What charts draw
/// has six significant digits, all else every digit: a reader sees it rounded once. null is a value
/// that was not observed. `program` is the version that wrote it.
std::string report_json(const Report& report, const std::string& program);

}  // namespace analysis
