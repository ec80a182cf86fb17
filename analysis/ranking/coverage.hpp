#pragma once
#include <span>
#include <string>

#include "analysis/compare/config.hpp"

namespace analysis {

/// "30 of 32 cells have a result; missing: gpu=h100-80gb policy=pin jps=3 and 1 more". Cells that
/// their sweep excludes, or that no run was asked for, are not missing: "33 of 33 cells have a
/// result; 147 excluded; 2 not asked for". Behind it kept_text().
std::string coverage_text(std::span<const ConfiguredCell> cells);
/// "2 results are kept from another setting".
std::string kept_text(std::size_t kept);

}  // namespace analysis
