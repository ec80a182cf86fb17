#pragma once
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "analysis/claims/claims.hpp"

namespace analysis {

/// Cells of an experiment that claims would need with other costs.
class MissingCells {
 public:
  /// Those of both sides of a row.
  void add(const ClaimRow& row);

  /// The command that runs them: `set` has the options " --set KEY=VALUE" of the other costs, and
  /// `suffix` tells their archive from others.
  std::string command(const std::string& experiment, const std::string& set,
                      const std::string& suffix) const;

 private:
  void add(const CellFilter& filter);
  std::string only_options() const;

  std::map<std::string, std::set<std::string>> values_;  // of the keys that select them
  std::set<std::string> any_;  // keys in which some claim takes every cell
  std::size_t repeats_ = 0;
};

/// The band over which verdicts on simulated cells must hold: the fixed and the token constants of
/// the step time 6 % off, apart and together, and the costs of the host tier 12 % off.
const std::vector<Factors>& sensitivity_band();

/// "sim.fixed_scale=0.94, sim.token_scale=0.94".
std::string to_text(const Factors& factors);

/// Whether the cell's constants have exactly these factors. Measured cells have none, and cells
/// without a host tier none on its costs.
bool has_factors(const ConfiguredCell& cell, const Factors& factors);

/// Judges each simulated row that is decided again over the band. A verdict or direction that is
/// another one somewhere becomes undecided: it is on an edge. Says in report.band how many hold,
/// and with which commands the cells that are missing can be run.
void judge_sensitivity(ClaimReport& report, std::span<const ConfiguredCell> cells,
                       const LoadTable& load);

}  // namespace analysis
