#pragma once
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sweeps/tables/result.hpp"
#include "workers/backends/access_log_options.hpp"
#include "workers/backends/sim/disk_model.hpp"
#include "workers/backends/sim/gpu_profile.hpp"
#include "workers/backends/sim/link_copier.hpp"
#include "workers/cell/progress.hpp"
#include "workers/cell/transformer.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/engine/config.hpp"
#include "workers/model/shape.hpp"
#include "workers/policies/config.hpp"
#include "workers/server/dialect/config.hpp"
#include "workers/workload/generators.hpp"
#include "workers/workload/request_list.hpp"
#include "workers/workload/trace/head.hpp"
#include "workers/workload/trace/play.hpp"

namespace worker {

/// Sums over all turns of a workload, tokens.
struct Demand {
  double prompt = 0;      // prefilled tokens if nothing is reused
  double new_tokens = 0;  // prefilled tokens if everything is reused
  double output = 0;
  double context = 0;  // mean over turns
  double gaps_s = 0;
  double turns = 0;
};
Demand demand_of(const workload::Workload& workload);

class Executor;

/// The user's input is wrong; what() is a complete message.
using engine::InputError;

/// A trace, and how it is replayed.
struct RecordedTrace {
  std::string path;
  workload::TraceCounts counts;
  std::int64_t missing_arrivals() const { return counts.jobs - counts.arrivals; }
  workload::PlayRules rules;
};

struct ArrivalConfig {
  enum class Kind { poisson, closed, trace, recorded };
  Kind kind = Kind::poisson;
  double rate_per_s = 1;   // poisson
  std::int64_t seed = 42;  // poisson
  std::optional<double>
      window_s;  // poisson: the arrivals within this many seconds determine the number of jobs
  std::string trace_path;
  int most_live = 0;  // unfinished jobs at a time; 0: no limit

  bool operator==(const ArrivalConfig&) const = default;
};

struct WorkloadConfig {
  std::variant<workload::SweSmithLikeConfig, workload::Agent8Config, workload::RequestListConfig,
               RecordedTrace>
      content;
  std::string content_key;  // equal exactly for equal content
  ArrivalConfig arrivals;
  /// Vocabulary of the model that runs: ids of recorded jobs are taken modulo it. 0: ids are
  /// unchanged.
  std::uint32_t vocabulary = 0;
};

/// The complete configuration of a cell. Plain values that suffice to repeat it.
struct ExperimentConfig {
  std::string policy_name;
  std::string backend = "sim";
  backends::GpuProfile gpu;
  std::string changed_pool;  // "engine.kv_tokens=8192" in place of the card's pool; empty: its own
  model::ModelShape model;
  std::string cost_model;                  // sim
  std::optional<Transformer> transformer;  // cpu and cuda
  engine::EngineConfig engine;
  std::int64_t bytes_per_block = 0;  // of KV, as the backend holds it
  // The tier in engine.tier, if any:
  backends::LinkMemory host_memory = backends::LinkMemory::pinned;
  backends::LinkModel link;
  backends::DiskRates disk;  // sim
  policies::PolicyConfig policy;
  WorkloadConfig workload;
  std::optional<backends::AccessLogOptions> access_log;  // cpu and cuda
  std::optional<server::ServerConfig> server;            // server
};

/// Jobs and the arrival times of their programs.
struct Load {
  const workload::Workload& workload;  // owned by the cache
  std::vector<engine::Nanos> arrivals;
  std::string curation;  // which jobs of a file were rejected and why; empty for generated jobs
};

/// Generates or reads jobs and their arrivals, and keeps the last ones, since most cells of a sweep
/// replay the same jobs.
class WorkloadCache {
 public:
  /// The load is valid until the next call. Throws InputError, also when a context exceeds
  /// `max_model_len`.
  Load load(const WorkloadConfig& config, int max_model_len);
  /// The demand of the workload of the last load().
  const Demand& demand();

 private:
  struct Content {
    std::string key;
    workload::Workload workload;
    std::string curation;
    std::vector<double> recorded_arrivals_s;
    std::optional<Demand> demand{};
    std::optional<int> fits{};              // the last max_model_len that its jobs kept
    ArrivalConfig arrival{};                // of the arrivals below
    std::vector<engine::Nanos> arrivals{};  // empty: none yet
  };
  std::unique_ptr<Content> last_;
};

/// Runs a cell from its first arrival to its last token. Throws CellAbandoned when a stop is
/// requested.
sweep::CellResult run_experiment(const ExperimentConfig& config, WorkloadCache& workloads,
                                 Executor& executor, const RunHooks& hooks = {});
/// Runs it with an executor of its own.
sweep::CellResult run_experiment(const ExperimentConfig& config, WorkloadCache& workloads,
                                 const RunHooks& hooks = {});

}  // namespace worker
