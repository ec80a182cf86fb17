#include <iostream>

#include "driver/commands/commands.hpp"
#include "driver/exit_codes.hpp"
#include "driver/plan_report.hpp"

namespace driver {

int plan(const Options& options) {
  const Plan plan = make_plan(options.arguments.front(), options);
  const PlanReport report = report_plan(plan);
  options.json ? print_plan_json(plan, report, std::cout) : print_plan(plan, report, std::cout);
  return kOk;
}

}  // namespace driver
