#pragma once
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "analysis/compare/config.hpp"
#include "analysis/compare/decision.hpp"

namespace analysis {

/// A measured cell and the simulated one with the same axes and seed; null: it is not modelled.
struct PredictedCell {
  const ConfiguredCell* measured;
  const ConfiguredCell* simulated;
};
std::vector<PredictedCell> predicted_cells(const std::vector<ConfiguredCell>& measured,
                                           const std::vector<ConfiguredCell>& simulated);

/// Prints, for every measured cell and the simulated cell with the same axes, both figures and the
/// error of the simulated one, and the mean errors of other figures. Throws std::invalid_argument
/// when no cell has the figure.
void print_predictions(const std::vector<ConfiguredCell>& measured,
                       const std::vector<ConfiguredCell>& simulated, const std::string& metric,
                       std::ostream& out);

/// What deploying the simulator's choice would cost where the measured cells decide: at one
/// combination of all axes but the policy, and with one amount of host memory.
struct Agreement {
  std::string place;         // "gpu=h100-80gb jps=3", with " dram_gib=16" if policies have it
  std::string best, chosen;  // measured, and by the simulator
  Standing chosen_is = Standing::absent;  // among the measured ones
  bool is_noise_known = false;            // both have three repeats
  double regret = sweep::kNotObserved;    // of the measured figure of `chosen` over that of `best`
  double tau_b = sweep::kNotObserved;     // between the orders of policies; NaN below four of them
  std::size_t policies = 0;
};

/// Kendall's tau-b, which corrects for ties; NaN when either side is one tie.
double tau_b(std::span<const double> a, std::span<const double> b);

/// In the order of the cells. Cells that are not modelled do not take part. Empty for a figure
/// which is better neither way.
std::vector<Agreement> agreements(std::span<const PredictedCell> cells, const std::string& figure);

/// A table of the agreements and a sentence that counts them; nothing when no place has a choice.
void print_agreements(std::span<const Agreement> all, std::ostream& out);

}  // namespace analysis
