#pragma once
#include <filesystem>
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

/// A batch script, the file that it goes to, and a summary to print.
struct BatchScript {
  std::filesystem::path file;
  std::string text;
  std::string summary;  // one line
};

/// Paths of an archive's parts: beside it, with the SKU in their names.
struct SubmitPaths {
  explicit SubmitPaths(const std::filesystem::path& archive);

  std::filesystem::path archive;                           // DIR/results.h5, absolute
  std::filesystem::path of(const std::string& end) const;  // DIR/results<end>
  std::filesystem::path of_sku(const std::string& sku) const { return of('.' + sku + ".h5"); }
};

/// The common part of all scripts of a submission.
struct Submission {
  const Options& options;
  const Cluster& cluster;
  const Plan& plan;
  SubmitPaths paths;
};

BatchScript sku_script(const Submission& submission, const SkuJob& job);
/// The job that runs after them, merges the archives of `skus` and prints the table.
BatchScript merge_script(const Submission& submission, const std::vector<std::string>& skus);

}  // namespace driver
