#pragma once
#include <string>
#include <vector>

#include "analysis/compare_config.hpp"

namespace analysis {

/// Published values for cells of an exact card.
struct Published {
  struct Entry {
    std::string gpu, variant;
    double jps = 0;
    double value = 0;
  };
  std::string source, metric;
  Config applies;  // keys that a cell must have with these values
  std::vector<Entry> entries;

  /// NaN when there is none for this very cell.
  double value(const ConfiguredCell& cell, const std::string& metric) const;
};

/// Reads a file of sweeps/published. Throws sweep::SpecError.
Published load_published(const std::string& path);

/// "cpu_offload-16G", or the policy alone where it has no host tier.
std::string variant_of(const ConfiguredCell& cell);

}  // namespace analysis
