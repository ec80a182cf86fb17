#include <iostream>

#include "analysis/text/escape.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/command_line/exit_codes.hpp"
#include "driver/commands/commands.hpp"
#include "driver/plan/plan.hpp"
#include "workers/tools/describe_workload.hpp"

namespace driver {
namespace {

/// The first cell of the sweep that can run.
template <class Use>
int with_first_cell(const Options& options, Use use) {
  Options simulated = options;
  if (!simulated.backend) simulated.backend = "sim";  // only the workload is looked at
  const Plan plan = make_plan(options.arguments.front(), simulated);
  for (const PlannedCell& planned : plan.cells) {
    if (!planned.selected || !planned.bound) continue;
    use(planned.bound->config);
    return kOk;
  }
  throw sweep::SpecError(
      plan.spec.path + ": no cell can run" +
      (plan.cells.empty() ? "" : "; the first: " + plan.cells.front().cell.reason));
}

/// Writes the workload of a sweep, or another trace.
int convert(const Options& options) {
  const std::string& from = options.arguments.front();
  write_output(options, [&](std::ostream& out) {
    if (!from.ends_with(".toml")) return worker::write_trace(from, *options.to, out);
    with_first_cell(options, [&](const worker::ExperimentConfig& config) {
      worker::write_workload(config, *options.to, out);
    });
  });
  return kOk;
}

}  // namespace

int describe_workload(const Options& options) {
  if (options.to) return convert(options);
  if (options.check) {
    worker::describe_trace(options.arguments.front(), analysis::terminal_text, std::cout);
    return kOk;
  }
  return with_first_cell(options, [&](const worker::ExperimentConfig& config) {
    worker::describe_workload(config, options.job, options.turn - 1, analysis::terminal_text,
                              std::cout);
  });
}

}  // namespace driver
