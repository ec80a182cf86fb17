#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sweeps/definition/cell.hpp"
#include "sweeps/tables/result.hpp"
#include "sweeps/tables/shared.hpp"
#include "sweeps/tables/status.hpp"

namespace sweep {

/// The tables that hold rows of cells, in the order of the archive.
inline constexpr std::array<std::string_view, 11> kCellTables = {
    "jobs",      "turns",     "steps",       "sched",          "kv_events", "telemetry",
    "evictions", "kv_access", "access_rows", "access_kernels", "kv_copies"};
/// The number of leading tables that count in a digest also where they have no rows.
inline constexpr std::size_t kEarliestTables = 6;

/// Before schema 1.6: the note of a cell at level jobs, the digest of the result that it is of.
inline constexpr std::string_view kSummaryOf = "summary_of";

/// Where, when and in how many attempts a cell ran. The results of a simulation must not depend on
/// any of it. Unknown texts are empty, unknown numbers are 0 or NaN.
struct CellRun {
  int attempts = 0;
  std::string program;  // version and commit
  std::string host;
  int rank = -1;
  std::string gpu_name, gpu_uuid;
  std::int64_t gpu_memory_bytes = 0;
  std::string slurm_job;
  std::string t_start_utc, t_end_utc;
  double wall_s = kNotObserved;
};

/// The outcome of a cell, and where its rows are.
struct CellOutcome {
  CellStatus status = CellStatus::planned;
  std::string reason;
  std::vector<Figure> figures;
  std::vector<Note> notes;
  std::string digest;                    // of the results; empty until the cell has run
  RecordLevel level = RecordLevel::all;  // which tables may have rows of a cell that is ok
  CellRun run;
  std::array<RowRange, kCellTables.size()> rows;
};

/// One row of /cells: what was planned, and its outcome.
struct CellRecord : CellOutcome {
  std::string key;  // SHA-256 of config_json, 64 hex digits
  int index = 0;    // position in the plan, and the row
  std::string label;
  AxisValues axes;
  std::string config_json;  // canonical JSON of everything that the results depend on
  std::string backend;
  int repeat = 0;
  std::int64_t seed = 0;
  bool kept = false;  // a result of another setting: the plan lacks the cell

  bool has_run() const { return !digest.empty(); }
  /// Whether the cell has a result with every table of this level.
  bool has_result(RecordLevel asked) const { return status == CellStatus::ok && level >= asked; }
};

/// "cell 3 (policy=fcfs jps=1)"
inline std::string name_of(const CellRecord& cell) {
  return "cell " + std::to_string(cell.index) + " (" + cell.label + ")";
}

/// Whether `a` is a result with more tables than `b`, which is one of the same cell.
inline bool has_more(const CellRecord& a, const CellRecord& b) {
  return a.status == CellStatus::ok && b.status == CellStatus::ok && a.level > b.level;
}

inline void take_outcome(CellRecord& to, CellOutcome from) {
  static_cast<CellOutcome&>(to) = std::move(from);
}
/// The cell as planned, before it has run; excluded if the plan lacks it.
CellRecord without_outcome(const CellRecord& cell);

/// Kinds of columns that /cells has for what its cells have.
inline constexpr std::string_view kAxis = "axis", kFigure = "figure", kNote = "note";

/// /cells, with a column for every axis, figure and note that any of the cells has; NaN or empty in
/// cells that lack it. A name that another column already has gets the suffix "_axis", "_figure" or
/// "_note". A figure or note that is volatile in some cells alone has two.
Table to_cells_table(std::span<const CellRecord> cells);
/// Names of all axes, figures or notes, by what the `long_name` of each column says it is of.
std::vector<std::string> names_of(const Table& cells, std::string_view kind);
/// The inverse. An axis of whole numbers that some cell lacks is read back as
/// floating point. Throws TableError when a column is missing or a status is unknown.
std::vector<CellRecord> to_records(const Table& cells);

/// Which sweep an archive belongs to, and which program wrote it.
struct ArchiveHead {
  std::string sweep_name;
  std::string spec_text;  // the sweep file, verbatim
  std::string created_utc;
  std::string tool_version;  // of the last program that wrote it
  bool operator==(const ArchiveHead&) const = default;
};

/// The small parts of an archive, which every merge rewrites.
struct ArchiveIndex {
  ArchiveHead head;
  std::vector<CellRecord> cells;          // in plan order
  Table provenance = {"provenance", {}};  // one row per run of the driver, texts
  std::string cells_digest{};             // of /cells in the file, which may lack later outcomes
};

}  // namespace sweep
