#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/compare/config.hpp"
#include "sweeps/definition/selection.hpp"

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

  /// NaN if there is none.
  double value_at(const std::string& gpu, const std::string& variant, double jps) const;
  /// NaN if there is none for this cell.
  double value(const ConfiguredCell& cell, const std::string& metric) const;
};

/// Reads a file of sweeps/published. Throws sweep::SpecError.
Published load_published(const std::string& path);
/// The published values of all files of a folder, by name; none if there is no such folder.
std::vector<Published> all_published(const std::filesystem::path& folder);

/// The files *.toml of a folder by name; none if there is no such folder.
std::vector<std::filesystem::path> toml_files(const std::filesystem::path& folder);

/// "cpu_offload-16G", or only the policy if it has no host tier.
std::string variant_of(const ConfiguredCell& cell);

/// The settings of cells that tables print as this policy: "cpu_offload-128G",
/// "fcfs+eviction=plugin", "continuum (ttl_s=5.0, order=fcfs)", or several of these in one. Empty
/// for another key or a plain name. The inverse of variant_of() and of what stands behind it where
/// policies share a name.
sweep::Alternative read_label(const std::string& key, const std::string& text);

}  // namespace analysis
