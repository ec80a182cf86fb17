#pragma once
#include <string>
#include <vector>

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

}  // namespace analysis
