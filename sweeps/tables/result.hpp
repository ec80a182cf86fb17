#pragma once
#include <array>
#include <string>
#include <vector>

#include "sweeps/tables/schema.hpp"
#include "sweeps/tables/shared.hpp"
#include "sweeps/tables/status.hpp"

namespace sweep {

/// One summary number of a cell, e.g. {"jct_wall_mean_s", 41.0, "s"}: a column of /cells.
struct Figure {
  SharedName name;
  double value = kNotObserved;
  SharedName unit;
  bool is_volatile = false;
};

/// One descriptive text of a cell, e.g. {"gpu_name", "NVIDIA H200"}: a column of /cells.
struct Note {
  SharedName name;
  std::string text;
  bool is_volatile = false;
};

/// The figure or note of this name; null if there is none.
template <class Part, class Name>
const Part* find_named(const std::vector<Part>& parts, const Name& name) {
  for (const Part& part : parts)
    if (part.name == name) return &part;
  return nullptr;
}

/// All results of a finished cell.
struct CellResult {
  Table jobs = to_table<JobRow>({});
  Table turns = to_table<TurnRow>({});
  Table steps = to_table<StepRow>({});
  Table sched = to_table<SchedRow>({});
  Table kv_events = to_table<KvEventRow>({});
  Table evictions = to_table<EvictionRow>({});
  Table telemetry = to_table<TelemetryRow>({});  // empty without a GPU
  // Empty unless record.access_log asks for them.
  Table kv_access = to_table<KvAccessRow>({});
  Table access_rows = to_table<AccessRowRow>({});
  Table access_kernels = to_table<AccessKernelRow>({});
  Table kv_copies = to_table<KvCopyRow>({});  // of earlier programs
  std::vector<Figure> figures;                // in display order
  std::vector<Note> notes;

  /// The engine's tables, without telemetry of the machine and the access log.
  std::array<const Table*, 6> tables() const {
    return {&jobs, &turns, &steps, &sched, &kv_events, &evictions};
  }
};

}  // namespace sweep
