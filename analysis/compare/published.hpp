#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "analysis/compare/config.hpp"

namespace analysis {

/// Published values for cells of one exact card.
struct Published {
  struct Entry {
    std::string gpu, variant;
    double jps = 0;
    double value = 0;
  };
  std::string source, metric;
  Config applies;  // values that a cell's keys must have
  std::vector<Entry> entries;

  /// NaN if there is none for this cell.
  double value(const ConfiguredCell& cell, const std::string& metric) const;
};

/// Reads a file of sweeps/published. Throws sweep::SpecError.
Published load_published(const std::string& path);
/// Those of all files of a folder, by name; none if there is no such folder.
std::vector<Published> all_published(const std::filesystem::path& folder);

/// The files *.toml of a folder by name; none if there is no such folder.
std::vector<std::filesystem::path> toml_files(const std::filesystem::path& folder);

/// "cpu_offload-16G", or only the policy if it has no host tier.
std::string variant_of(const ConfiguredCell& cell);

/// The metric of the files of sweeps/coverage, which analysis/python/coverage.py writes: of a
/// cell's 95 % intervals of the ratio to fcfs with 3, 5 or 10 seeds, the percent that contain the
/// ratio over 200 seeds, the least of the three. Cells with 90 % or more are not listed, and those
/// listed are "on an edge".
inline constexpr const char* kCoverage = "interval_coverage_percent";

/// With this many seeds or more outliers and modes are drawn often enough.
inline constexpr std::size_t kManyRepeats = 30;

/// How many percent of the intervals hold at least, if the cell is on an edge; else NaN.
/// `coverage`: files of sweeps/coverage. `repeats`: of the cell's interval; with fewer than three
/// there is none.
double held_percent(const ConfiguredCell& cell, std::size_t repeats,
                    std::span<const Published> coverage);

}  // namespace analysis
