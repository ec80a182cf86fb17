#pragma once
#include <compare>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "sweeps/archive/reader.hpp"

namespace analysis {

struct ByText {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const { return a < b; }
};
/// The configuration of a cell: every key that its results depend on.
using Config = std::map<sweep::SharedName, sweep::Value, ByText>;

/// Reads canonical JSON, as /cells/config_json has it: one object of scalars. Throws
/// sweep::ArchiveDamaged for anything else, which names the cell and the key.
Config parse_config(const std::string& canonical_json, const std::string& of = "a cell");

/// A key with different values in two configurations; empty in the one that lacks it.
struct ConfigDifference {
  std::string key;
  std::optional<sweep::Value> a, b;
};
std::vector<ConfigDifference> config_differences(const Config& a, const Config& b);

/// The value as text for display: a string without quotes, "-" for an empty value.
std::string shown(const std::optional<sweep::Value>& value);

/// NaN if it is no number.
double number_of(const std::optional<sweep::Value>& value);

/// A cell of an archive with its parsed configuration.
struct ConfiguredCell {
  explicit ConfiguredCell(const sweep::CellRecord& cell);
  /// One of this archive, whose tables it can load.
  ConfiguredCell(const sweep::CellRecord& cell, sweep::ArchiveReader& archive);

  /// The value of a key of the configuration or else of an axis; of "policy" with the changes that
  /// the sweep made to it, "fcfs+retention=pin".
  std::optional<sweep::Value> value(const std::string& key) const;
  /// The value of the key, with the policy as the sweep names it.
  std::optional<sweep::Value> written(const std::string& key) const;
  /// Null if the cell has no such figure.
  const sweep::Figure* find_figure(std::string_view name) const;
  /// NaN if the cell has no such figure.
  double figure(std::string_view name) const;

  const sweep::CellRecord* record;  // must outlive this
  Config config;
  std::vector<sweep::Figure> derived{};  // that the archive does not have: derive_figures()
  std::function<sweep::Table(std::string_view name)> load{};  // a table of the cell
};

std::vector<ConfiguredCell> cells_of(sweep::ArchiveReader& archive);

/// 99th percentile of the time from a job's arrival to its first token.
inline constexpr std::string_view kFirstTokenP99 = "first_token_p99_s";

/// Adds kFirstTokenP99, which programs before 2.0 did not store, from the cell's jobs, where the
/// archive has them. `row` is the cell's there.
void derive_figures(ConfiguredCell& cell, sweep::ArchiveReader& reader, int row);

/// Tokens of a KV block.
int block_tokens(const ConfiguredCell& cell);

/// The cells to compare differ in more than the named keys, or there are none, or none has a
/// figure. what() names the key and both values, or similar figures.
struct CompareError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

/// The name of the figure: `name` itself or `name` + "_mean_s". Throws CompareError.
std::string known_metric(const std::vector<ConfiguredCell>& cells, const std::string& name);

/// The source of figures. Only figures of equal kind are comparable or share a table.
struct FiguresKind {
  std::string backend, cost_model, emulate;  // "-": none
  auto operator<=>(const FiguresKind&) const = default;
};

FiguresKind kind_of(const ConfiguredCell& cell);

/// "MODELLED (sim, published)", "MEASURED (cuda, pool of a100-40gb)".
std::string to_text(const FiguresKind& kind);

inline std::string figures_kind(const ConfiguredCell& cell) { return to_text(kind_of(cell)); }

}  // namespace analysis
