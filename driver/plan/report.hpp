#pragma once
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "analysis/compare/config.hpp"
#include "driver/plan/history.hpp"
#include "driver/plan/plan.hpp"

namespace driver {

struct PlanLine : CellCost {
  const PlannedCell* cell = nullptr;
  bool runs = false;  // false: done already, excluded, infeasible or quarantined
  /// "new", "done", "failed before: ...", "changed: engine.block_size 16 -> 32", ...
  std::string why = {};
  double host_gib = 0;     // host memory that the cell takes; a simulated tier takes none
  bool estimated = true;   // false: as an earlier run took
  bool simulated = false;  // the times are those of a simulation
};

struct PlanRules {
  bool retry_quarantined = false;
  std::optional<double> node_gib{};  // host memory of every node, where it is known
};

struct PlanReport {
  std::vector<PlanLine> lines;
  std::size_t kept = 0;  // results in the archive that the plan has no cell for
  int starts = 0;        // of servers, in the worker's time of cells that run
  double starts_s = 0;
};

/// Every selected cell of the plan as it would run into this archive, or else into a new one.
PlanReport report_plan(const Plan& plan, const PlanRules& rules = {},
                       const std::optional<std::filesystem::path>& archive = {});

void print_plan(const Plan& plan, const PlanReport& report, std::ostream& out);
void print_plan_json(const Plan& plan, const PlanReport& report, std::ostream& out);

/// Simulates the cells that are to run and replaces their estimated times by what the simulation
/// took, with the cell's cost model, or the card's. Runs in child processes, `cores` of them, so
/// that a plugin that crashes or loops costs its estimates alone. A large plan is simulated in
/// part: a repeat takes as long as the others of its cell, and the estimates of the rest are scaled
/// by what those of simulated cells were off. Cells of backend cpu, and of servers that no policy
/// stands for, keep their estimates. The parent must have a single thread.
void simulate(std::vector<PlanLine>& lines, int cores);

}  // namespace driver
