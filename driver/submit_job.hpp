#pragma once
#include <string>
#include <vector>

#include "driver/options.hpp"
#include "driver/plan_report.hpp"
#include "driver/submit_cluster.hpp"

namespace driver {

/// What the job of one SKU asks the cluster for.
struct SkuJob {
  std::string sku;
  SkuNodes on;
  std::vector<PlanLine> cells;  // that are left to run
  int nodes = 1;
  int gpus_per_node = 1;
  double work_s = 0;     // expected time of all cells on these GPUs
  double longest_s = 0;  // of one cell
  double tier_gib = 0;   // host memory of a node for the tiers of cells that run together; 0: none
  int memory_gib = 0;    // of a node
  int time_min = 0;      // limit of a run
  bool in_one_run = true;

  int gpus() const { return nodes * gpus_per_node; }
};

/// The limit of a job in the cluster: of its QOS, or of the cluster. `place` gets where it is said.
double max_hours(const Cluster& cluster, const Options& options, std::string* place = nullptr);

/// Sizes the job of these cells, none of which is done. Throws sweep::SpecError or UsageError where
/// the cluster cannot run one of them, naming the key that stands against it.
SkuJob size_job(const std::string& sku, std::vector<PlanLine> cells, const std::string& backend,
                const Cluster& cluster, const Options& options);

/// Minutes of "MINUTES" or "HOURS:MINUTES:SECONDS". Throws UsageError.
int minutes_of(const std::string& time);
/// "12:30:00"
std::string slurm_time(int minutes);

}  // namespace driver
