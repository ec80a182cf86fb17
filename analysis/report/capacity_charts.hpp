#pragma once
#include <string>
#include <vector>

#include "analysis/report/chart.hpp"
#include "analysis/text/text_table.hpp"
#include "sweeps/archive/reader.hpp"

namespace analysis {

/// What an archive of kvsweep capacity shows: charts "study" at the study "capacity", the
/// capacities of policies and throughput against interactivity for each GPU, and the table of all.
/// Empty for other archives.
struct CapacityReport {
  std::string kind;      // of the figures
  bool of_live = false;  // agents, with seeds of the workload
  std::vector<Chart> charts;
  Grid grid;
  std::vector<std::string> notes;
};

CapacityReport capacity_report(sweep::ArchiveReader& archive);

}  // namespace analysis
