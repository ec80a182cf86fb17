#pragma once
#include <string>
#include <vector>

#include "driver/command_line/options.hpp"
#include "driver/plan/report.hpp"
#include "driver/submit/cluster.hpp"

namespace driver {

/// The request of the SLURM job of one SKU.
struct SkuJob {
  std::string sku;
  SkuNodes on;
  std::vector<PlanLine> cells;  // that are left to run
  bool needs_gpus = true;       // false: its workers simulate, or compute on the CPU
  int nodes = 1;
  int gpus_per_node = 1;  // or workers
  double work_s = 0;      // expected time for all cells on these GPUs
  double longest_s = 0;   // expected time of the longest cell
  double tier_gib = 0;    // host memory per node for the host tiers of concurrent cells; 0: none
  int memory_gib = 0;     // per node
  int time_min = 0;       // time limit of one run
  bool in_one_run = true;

  int gpus() const { return nodes * gpus_per_node; }
};

/// Sizes the job of these cells, none of which is done. Throws sweep::SpecError or UsageError if
/// the cluster cannot run one of them, and names the key that forbids it.
SkuJob size_job(const std::string& sku, std::vector<PlanLine> cells, const std::string& backend,
                const Cluster& cluster, const SubmitOptions& options);

/// "12:30:00"
std::string slurm_time(int minutes);

}  // namespace driver
