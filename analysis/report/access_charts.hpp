#pragma once
#include <string>
#include <vector>

#include "analysis/cell/access_digest.hpp"

namespace analysis {

/// The accesses to the KV of one cell over time.
struct AccessChart {
  std::string kind, gpu, label;  // of the cell; gpu is its profile name
  int cell = 0;
  double stopped_step = 0;  // the step before which logging stopped; NaN if it did not
  AccessDigest digest;
  std::vector<double> window_use;  // by forward pass: tokens in % of the token budget
  std::size_t forwards = 0;        // of the cell; window_use has only the first ones
};

/// Charts of the first cells that logged accesses, and the reasons why others have none.
struct AccessCharts {
  std::vector<AccessChart> charts;
  std::vector<std::string> left_out;
};

}  // namespace analysis
