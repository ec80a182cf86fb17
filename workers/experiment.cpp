#include "workers/experiment.hpp"

#include "workers/backends/sim/sim_backend.hpp"
#include "workers/client.hpp"
#include "workers/engine/errors.hpp"
#include "workers/figures.hpp"
#include "workers/policies/factory.hpp"
#include "workers/recorder.hpp"
#include "workers/workload/arrivals.hpp"

namespace worker {
namespace {

using engine::Nanos;

std::vector<Nanos> arrivals_for(const ArrivalConfig& config, std::size_t jobs) {
  switch (config.kind) {
    case ArrivalConfig::Kind::poisson:
      return workload::poisson_arrivals(config.rate_per_s, config.seed, jobs);
    case ArrivalConfig::Kind::closed:
      return workload::closed_batch(jobs);
    case ArrivalConfig::Kind::trace:
      break;
  }
  std::vector<Nanos> arrivals = workload::trace_arrivals(config.trace_path);
  if (arrivals.size() < jobs) {
    throw InputError(config.trace_path + ": must hold an arrival for each of the " +
                     std::to_string(jobs) + " jobs, found " + std::to_string(arrivals.size()));
  }
  arrivals.resize(jobs);
  return arrivals;
}

/// The number of jobs that a generated workload shall have.
template <class Config>
Load generate(Config config, const ArrivalConfig& arrival,
              workload::Workload (*make)(const Config&)) {
  if (!arrival.window_s) {
    workload::Workload workload = make(config);
    auto arrivals = arrivals_for(arrival, workload.jobs.size());
    return {std::move(workload), std::move(arrivals)};
  }
  auto arrivals =
      workload::poisson_arrivals_in_window(arrival.rate_per_s, arrival.seed, *arrival.window_s);
  if (arrivals.empty()) throw InputError("workload.window_s: no job arrives within the window");
  config.jobs = static_cast<int>(arrivals.size());
  return {make(config), std::move(arrivals), {}};
}

struct MakeLoad {
  const ArrivalConfig& arrival;

  Load operator()(const workload::SweSmithLikeConfig& config) const {
    return generate(config, arrival, workload::make_swe_smith_like);
  }
  Load operator()(const workload::Agent8Config& config) const {
    return generate(config, arrival, workload::make_agent8);
  }
  Load operator()(const RecordedTrajectories& config) const {
    const auto tokenizer = config.tokenizer_path.empty()
                               ? workload::byte_estimate_tokenizer()
                               : workload::load_tokenizer(config.tokenizer_path);
    workload::TrajectorySet set = workload::read_trajectories(config.reading, *tokenizer);
    auto arrivals = arrivals_for(arrival, set.workload.jobs.size());
    return {std::move(set.workload), std::move(arrivals),
            std::to_string(set.rows) +
                " jobs in the file; left out: " + workload::describe(set.rejected)};
  }
};

void check_lengths(const workload::Workload& workload, int max_model_len) {
  for (const workload::Job& job : workload.jobs) {
    if (static_cast<int>(job.tokens.size()) <= max_model_len) continue;
    throw InputError(workload.source + ": job " + job.id + " has a context of " +
                     std::to_string(job.tokens.size()) + " tokens; engine.max_model_len allows " +
                     std::to_string(max_model_len));
  }
}

}  // namespace

Load make_load(const WorkloadConfig& config, int max_model_len) {
  Load load = std::visit(MakeLoad{config.arrivals}, config.content);
  check_lengths(load.workload, max_model_len);
  return load;
}

sweep::CellResult run_experiment(const ExperimentConfig& config, const ProgressFn& progress) {
  const Load load = make_load(config.workload, config.engine.scheduler.max_model_len);
  const auto cost_model = backends::make_cost_model(config.cost_model, config.gpu, config.model);
  backends::SimBackend backend(*cost_model);
  engine::VirtualClock clock;
  const auto order = policies::make_order(config.policy);
  const auto retention = policies::make_retention(config.policy);
  const int block_size = config.engine.kv.block_size;
  Recorder recorder(load.workload, block_size * model::kv_bytes_per_token(config.model));
  engine::Engine engine(config.engine, clock, backend, *order, *retention, recorder);
  Client client(load.workload, load.arrivals, block_size, engine);

  serve(client, engine, clock, progress);

  sweep::CellResult result = recorder.take_tables();
  result.figures = figures_of(result);
  result.notes = {{"policy", config.policy_name},
                  {"workload", load.workload.source},
                  {"tokenizer", load.workload.tokenizer},
                  {"cost_model", cost_model->label()},
                  {"block_size", std::to_string(block_size)}};
  if (!load.curation.empty()) result.notes.push_back({"curation", load.curation});
  return result;
}

}  // namespace worker
