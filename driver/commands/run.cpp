#include <iostream>

#include "analysis/trace_jsonl.hpp"
#include "driver/commands/commands.hpp"
#include "driver/exit_codes.hpp"
#include "driver/plan.hpp"
#include "driver/progress.hpp"
#include "workers/experiment.hpp"

namespace driver {

int run(const Options& options) {
  const Plan plan = make_plan(options.arguments.front(), options);
  std::cout << "backend " << plan.backend << '\n';
  ProgressLine progress(std::cerr, false, static_cast<int>(plan.cells.size()));
  for (const PlannedCell& planned : plan.cells) {
    progress.begin_cell(sweep::label(planned.cell));
    if (!planned.bound) {
      progress.end_cell(planned.cell.reason);
      continue;
    }
    const auto result = worker::run_experiment(
        planned.bound->config, [&](const worker::Progress& p) { progress.update(p); });
    if (options.jsonl) analysis::write_trace(result, *options.jsonl / ("cell-" + std::to_string(planned.cell.index)));
    for (const auto& f : result.figures)
      std::cout << f.name << "=" << f.value << " ";
    progress.end_cell("");
  }
  return kOk;
}

}  // namespace driver
