#pragma once
#include <iosfwd>
#include <vector>

#include "analysis/compare/config.hpp"
#include "driver/plan/plan.hpp"

namespace driver {

/// Throws SpecError for a declared contrast of which one policy is in no cell of the plan.
void check_contrasts(const Plan& plan);

/// For each declared contrast and rate: the ratio so far, how many repeats an interval of
/// +-`percent` needs, and the hours of workers that the further ones take. Throws SpecError if no
/// contrast is declared.
void print_power(const Plan& plan, const std::vector<analysis::ConfiguredCell>& cells,
                 double percent, std::ostream& out);

}  // namespace driver
