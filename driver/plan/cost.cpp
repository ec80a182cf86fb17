#include "driver/plan/cost.hpp"

#include "workers/backends/sim/cost_model.hpp"
#include "workers/cell/estimate.hpp"

namespace driver {

CellCost estimate(const PlannedCell& planned, const worker::ExperimentConfig& config,
                  worker::WorkloadCache& workloads) {
  const worker::CellEstimate expected = worker::estimate_cell(modelled(planned, config), workloads);
  const worker::ServerStarts starts = worker::server_starts(config);
  return {expected.served_s,
          worker::busy_seconds(config, expected) + (starts.each_cell ? starts.seconds : 0),
          expected.assumed, starts};
}

worker::ExperimentConfig modelled(const PlannedCell& planned,
                                  const worker::ExperimentConfig& config) {
  if (!config.server) {
    worker::ExperimentConfig sim = config;
    if (config.backend != "sim")
      sim.cost_model = backends::usual_cost_model(config.gpu, config.model);
    return sim;
  }
  try {
    return worker::bind(planned.cell.params, "sim", planned.cell.seed, *planned.repeats->profiles)
        .config;
  } catch (const sweep::SpecError&) {
  } catch (const worker::Infeasible&) {
  }
  return config;
}

CellCost cost_of(const PlannedCell& planned, worker::WorkloadCache& workloads) {
  return planned.cost ? *planned.cost : estimate(planned, planned.config(), workloads);
}

double figure_of(const std::vector<sweep::Figure>& figures, std::string_view name) {
  const sweep::Figure* found = sweep::find_named(figures, name);
  return found == nullptr ? sweep::kNotObserved : found->value;
}

}  // namespace driver
