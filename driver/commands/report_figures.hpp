#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/report/plain.hpp"

namespace driver {

/// What kvsweep-figures (analysis/python) drew.
struct Figures {
  std::vector<analysis::ReportPicture> pictures;  // none when something is missing
  std::string problem;                            // what, then
};

/// Runs kvsweep-figures on archives, in a folder of its own below `scratch` that is removed again.
Figures draw_figures(const std::vector<std::string>& archives,
                     const std::filesystem::path& scratch);

}  // namespace driver
