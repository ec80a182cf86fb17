#pragma once
#include <string>
#include <vector>

#include "analysis/capacity/rows.hpp"
#include "analysis/text/text_table.hpp"

namespace analysis {

// Tables to read, and for programs: there a column has numbers or texts alone, its name says the
// unit, and what is not known is empty.

/// A line for each capacity.
Grid capacity_grid(const CapacityRules& rules, const std::vector<Capacity>& capacities,
                   GridFormat format = GridFormat::text);

/// A limit at a load: searched on one backend, confirmed on another.
struct Confirmation {
  const CapacityPlace* place;
  std::size_t load;
  const Limit* limit;
  Estimate searched, confirmed;
  double j_per_token;  // measured, on the other
};

/// `searched` and `confirmed` say whose figures they are: "MODELLED (sim)".
Grid confirm_grid(const CapacityRules& rules, const std::vector<Confirmation>& rows,
                  const std::string& searched, const std::string& confirmed, GridFormat format);

}  // namespace analysis
