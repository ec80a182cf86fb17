#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sweeps/cells_table.hpp"

namespace analysis {

/// What a cell was configured as: every key that its results depend on.
using Config = std::map<std::string, sweep::Value>;

/// Reads canonical JSON, as /cells/config_json has it: one object of scalars. Throws
/// sweep::ArchiveDamaged for anything else.
Config parse_config(const std::string& canonical_json);

/// A key with different values in two configurations; nothing where one lacks it.
struct ConfigDifference {
  std::string key;
  std::optional<sweep::Value> a, b;
};
std::vector<ConfigDifference> config_differences(const Config& a, const Config& b);

/// The value as it is shown: a string without quotes, "-" for nothing.
std::string shown(const std::optional<sweep::Value>& value);

/// A cell of an archive with its configuration taken apart.
struct ConfiguredCell {
  explicit ConfiguredCell(const sweep::CellRecord& cell);

  /// The value of an axis or, where it is none, of a key of the configuration.
  std::optional<sweep::Value> value(const std::string& key) const;
  /// NaN where the cell has no such figure.
  double figure(const std::string& name) const;

  const sweep::CellRecord* record;  // must outlive this
  Config config;
};

/// The figure of this name, or with "_mean_s" behind it. Throws std::invalid_argument naming near
/// ones when no cell has it.
std::string known_metric(const std::vector<ConfiguredCell>& cells, const std::string& name);

}  // namespace analysis
