#pragma once
#include <vector>

#include "driver/plan/report.hpp"

namespace driver {

/// Simulates the cells that are to run and replaces their estimated times by what the simulation
/// took, with the cell's cost model, or the card's. Runs in child processes, `cores` of them, so
/// that a plugin that crashes or loops costs its estimates alone. A large plan is simulated in
/// part: a repeat takes as long as the others of its cell, and the estimates of the rest are scaled
/// by what those of simulated cells were off. Cells of backend cpu, and of servers that no policy
/// stands for, keep their estimates. The parent must have a single thread.
void simulate(std::vector<PlanLine>& lines, int cores);

}  // namespace driver
