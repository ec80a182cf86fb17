#pragma once
#include <string>
#include <vector>

#include "analysis/access_digest.hpp"

namespace analysis {

/// What touched the KV of one cell when.
struct AccessChart {
  std::string kind, gpu, label;  // of the cell; gpu as it names it
  int cell = 0;
  double stopped_step = 0;  // before which logging stopped; NaN if it did not
  AccessDigest digest;
  std::vector<double> window_use;  // of each forward pass, % of what it may compute
  std::size_t forwards = 0;        // of the cell; window_use has the first of them
};

/// Charts of the first cells that logged accesses, and why others have none.
struct AccessCharts {
  std::vector<AccessChart> charts;
  std::vector<std::string> left_out;
};

}  // namespace analysis
