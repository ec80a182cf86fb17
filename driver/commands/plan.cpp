#include <iostream>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/ranking/answer.hpp"
#include "analysis/text/escape.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/command_line/failure.hpp"
#include "driver/commands/commands.hpp"
#include "driver/plan/cost.hpp"
#include "driver/plan/report.hpp"
#include "driver/plan/simulated.hpp"
#include "workers/rank/host.hpp"

namespace driver {
namespace {

/// The cells of the archive that the options choose, which may name what only the plan has.
std::vector<analysis::ConfiguredCell> cells_of(const sweep::ArchiveReader& archive,
                                               const Plan& plan, const Options& options) {
  const std::vector<sweep::CellRecord> planned = planned_records(plan);
  return selected_of_all({&archive.cells(), &planned}, options).front();
}

/// The runs that would tell why the best policies of the archive are fast, as `run` names them.
void print_ablations(const sweep::ArchiveReader& archive, const Plan& plan,
                     const Options& options) {
  const std::vector<analysis::ConfiguredCell> cells = cells_of(archive, plan, options);
  const auto rows = analysis::arrange(analysis::with_results(cells));
  const std::string command = "run" + options.command_line.substr(std::string_view("plan").size());
  for (const std::string& each : analysis::commands_that_tell(rows, command))
    std::cout << "what would tell: " << analysis::terminal_text(each) << '\n';
}

}  // namespace

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
  if (archive && !options.json) print_ablations(*archive, plan, options);
  return kOk;
}

}  // namespace driver
