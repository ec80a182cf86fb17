#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sweeps/archive/cells_table.hpp"

namespace sweep {

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
