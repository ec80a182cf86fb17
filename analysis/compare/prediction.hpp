#pragma once
#include <iosfwd>
#include <string>
#include <vector>

#include "analysis/compare/config.hpp"

namespace analysis {

/// Where a cell of a server keeps "KEY=VALUE KEY=VALUE", values of the policy inside it.
constexpr const char* kServerPolicyValues = "server.env.KVSWEEP_POLICY_SET";

/// Prints, for every measured cell and the simulated cell with the same axes, both figures and the
/// error of the simulated one, and the mean errors of other figures. Throws std::invalid_argument
/// when no cell has the figure.
void print_predictions(const std::vector<ConfiguredCell>& measured,
                       const std::vector<ConfiguredCell>& simulated, const std::string& metric,
                       std::ostream& out);

}  // namespace analysis
