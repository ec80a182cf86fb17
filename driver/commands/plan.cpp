#include <iostream>
#include <optional>
#include <string>

#include "driver/command_line/archive_argument.hpp"
#include "driver/command_line/failure.hpp"
#include "driver/commands/commands.hpp"
#include "driver/plan/cost.hpp"
#include "driver/plan/report.hpp"
#include "driver/plan/simulated.hpp"
#include "workers/rank/host.hpp"

namespace driver {
int plan(const Options& options) {
  worker::WorkloadCache workloads;
  const bool all_count = !options.archive && !options.cell;  // none is done or left out
  const Plan plan =
      make_plan(options.arguments.front(), options, all_count ? with_costs(workloads) : OnBound());
  const PlanRules rules{options.retry_quarantined, options.node_memory_gib};
  PlanReport report;
  std::optional<sweep::ArchiveReader> archive;
  if (options.archive) {
    const std::string path = options.archive->string();
    archive.emplace(open_archive(path));
    const PlanHistory history(*archive, path, plan.spec.name);
    report = report_plan(plan, rules, &history);
  } else {
    report = report_plan(plan, rules);
  }
  simulate(report.lines, worker::detect_host().cores);
  print_keys_without_effect(plan, std::cerr);
  options.json ? print_plan_json(plan, report, std::cout) : print_plan(plan, report, std::cout);
  return kOk;
}

}  // namespace driver
