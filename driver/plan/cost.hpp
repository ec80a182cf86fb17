#pragma once
#include "driver/plan/plan.hpp"

namespace driver {

/// What a cell that runs is expected to take: as the plan has it, or else estimated now. Reads or
/// generates its workload; throws worker::InputError when that is wrong.
CellCost cost_of(const PlannedCell& planned, worker::WorkloadCache& workloads);
/// What a cell that runs this is expected to take.
CellCost estimate(const PlannedCell& planned, const worker::ExperimentConfig& config,
                  worker::WorkloadCache& workloads);

/// What stands for the cell in a simulation: of a server the policy of its profile, on the costs of
/// the card, or its own configuration where there is none; of others their own.
worker::ExperimentConfig modelled(const PlannedCell& planned,
                                  const worker::ExperimentConfig& config);

/// The value of a figure; NaN where there is none of this name.
double figure_of(const std::vector<sweep::Figure>& figures, std::string_view name);

}  // namespace driver
