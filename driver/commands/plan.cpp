#include <iostream>

#include "driver/commands/commands.hpp"
#include "driver/plan/plan.hpp"
#include "driver/plan/report.hpp"
#include "workers/rank/host.hpp"

namespace driver {

int plan(const Options& options) {
  worker::WorkloadCache workloads;
  const bool all_count = !options.archive && !options.cell;  // none is done or left out
  const Plan plan = make_plan(options.arguments.front(), options, all_count ? &workloads : nullptr);
  PlanReport report =
      report_plan(plan, {options.retry_quarantined, options.node_memory_gib}, options.archive);
  simulate(report.lines, worker::detect_host().cores);
  print_keys_without_effect(plan, std::cerr);
  options.json ? print_plan_json(plan, report, std::cout) : print_plan(plan, report, std::cout);
  return kOk;
}

}  // namespace driver
