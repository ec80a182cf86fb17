#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "driver/command_line/options.hpp"
#include "sweeps/definition/params.hpp"

namespace driver {

/// Refuses options that a batch script cannot carry. Throws UsageError, which names the option.
void check_script_words(const Options& options);

/// How a cluster names the nodes of one SKU.
struct SkuNodes {
  std::string partition;   // empty: the cluster's default
  std::string gres;        // "gpu" or "gpu:TYPE"
  std::string constraint;  // empty: partition and gres name the exact card
  int gpus_per_node = 1;
  int cores_per_gpu = 1;
  double node_memory_gib = 0;  // 0: unknown
};

/// A cluster as slurm/clusters/NAME.toml describes it.
struct Cluster {
  std::string name;
  std::string file;
  bool account_required = false;
  std::string qos;         // default for jobs that name none; may be empty
  double max_hours = 0;    // longest job if its QOS has no table
  int signal_lead_s = 0;   // time from USR1 to the limit
  int end_margin_s = 0;    // time from the last cell's end to the limit
  double staging_gib = 0;  // host memory per GPU besides its tier: weights, pinned buffers
  std::string modules, scratch, mpirun, srun, merge_partition;
  std::string container;                    // image that kvsweep runs in; empty: none
  std::string server_container;             // image that servers run in; empty: none
  std::string model_cache;                  // folder of models, HF_HOME of jobs; empty: theirs
  std::map<std::string, double> qos_hours;  // longest job in each QOS, in hours
  std::map<std::string, SkuNodes> skus;
  std::vector<std::pair<std::string, std::string>> fake_devices;  // node -> "NAME,MiB"; for tests

  sweep::ParamMap params;  // every key with its line in the file

  /// Throws sweep::SpecError, which lists the known SKUs.
  const SkuNodes& nodes_of(const std::string& sku) const;
  /// "clusters/pace.toml:12:1: qos.embers.max_hours": for messages.
  std::string place_of(const std::string& key) const;
};

/// Reads a profile: the path of a .toml file, or a name in `folder`. Throws sweep::SpecError with
/// key, file and line if a key is missing, unknown or out of range, or if two keys contradict each
/// other.
Cluster load_cluster(const std::filesystem::path& folder, const std::string& name);

}  // namespace driver
