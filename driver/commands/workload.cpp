#include <algorithm>
#include <iostream>

#include "analysis/text/escape.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/commands/commands.hpp"
#include "driver/plan/plan.hpp"
#include "workers/tools/describe_workload.hpp"

namespace driver {
namespace {

/// The cell on each GPU that its model fits, the smallest pool first.
std::vector<worker::ExperimentConfig> on_each_gpu(const PlannedCell& planned,
                                                  const Options& options) {
  worker::Profiles profiles(options.profiles);
  std::vector<worker::ExperimentConfig> configs;
  for (const std::string& gpu : worker::profile_names(options.profiles / "gpus")) {
    sweep::ParamMap params = planned.cell.params;
    params["gpu"].value = gpu;
    try {
      configs.push_back(worker::bind(params, "sim", planned.cell.seed, profiles).config);
    } catch (const worker::Infeasible&) {
    } catch (const sweep::SpecError&) {  // no costs for this model on this GPU
    }
  }
  std::ranges::stable_sort(configs, {}, [](const worker::ExperimentConfig& config) {
    return worker::pool_of(config).tokens;
  });
  return configs;
}

}  // namespace

int describe_workload(const Options& options) {
  if (options.check) {
    worker::describe_trace(options.arguments.front(), analysis::terminal_text, std::cout);
    return kOk;
  }
  Options simulated = options;
  if (!simulated.backend) simulated.backend = "sim";  // only the workload is looked at
  const Plan plan = make_plan(options.arguments.front(), simulated);
  const PlannedCell& planned = first_to_run(plan);
  const worker::ExperimentConfig config = planned.config();
  if (options.job)
    worker::describe_turn(config, *options.job, options.turn - 1, analysis::terminal_text,
                          std::cout);
  else
    worker::describe_workload(config, on_each_gpu(planned, options), analysis::terminal_text,
                              std::cout);
  return kOk;
}

}  // namespace driver
