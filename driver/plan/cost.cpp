#include "driver/plan/cost.hpp"

#include "workers/cell/estimate.hpp"

namespace driver {
namespace {

CellCost estimate(const worker::ExperimentConfig& config, worker::WorkloadCache& workloads) {
  const worker::CellEstimate expected = worker::estimate_cell(config, workloads);
  CellCost cost{expected.served_s, worker::busy_seconds(config, expected), expected.from_bytes};
  for (std::size_t i = 0; i < cost.bytes.size(); ++i)
    cost.bytes[i] = worker::stored_bytes(config, expected, static_cast<sweep::RecordLevel>(i));
  return cost;
}

}  // namespace

CellCost cost_of(const PlannedCell& planned, worker::WorkloadCache& workloads) {
  return planned.cost ? *planned.cost : estimate(planned.config(), workloads);
}

OnBound with_costs(worker::WorkloadCache& workloads) {
  return [&workloads](PlannedCell& planned, const worker::ExperimentConfig& config) {
    planned.cost = estimate(config, workloads);
  };
}

}  // namespace driver
