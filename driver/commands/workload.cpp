#include <iostream>

#include "analysis/text/escape.hpp"
#include "driver/command_line/exit_codes.hpp"
#include "driver/commands/commands.hpp"
#include "driver/plan/plan.hpp"
#include "workers/tools/describe_workload.hpp"

namespace driver {

int describe_workload(const Options& options) {
  Options simulated = options;
  if (!simulated.backend) simulated.backend = "sim";  // only the workload is looked at
  const Plan plan = make_plan(options.arguments.front(), simulated);
  for (const PlannedCell& planned : plan.cells) {
    if (!planned.selected || !planned.bound) continue;
    worker::describe_workload(planned.bound->config, options.job, options.turn - 1,
                              analysis::terminal_text, std::cout);
    return kOk;
  }
  throw sweep::SpecError(
      plan.spec.path + ": no cell can run" +
      (plan.cells.empty() ? "" : "; the first: " + plan.cells.front().cell.reason));
}

}  // namespace driver
