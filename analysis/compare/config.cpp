#include "analysis/compare/config.hpp"

#include <cmath>

#include "analysis/digest/statistics.hpp"
#include "analysis/text/json.hpp"
#include "sweeps/text/strict_json.hpp"

namespace analysis {
namespace {

sweep::Value value_of(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_float()) return json.get<double>();
  return json.get<std::int64_t>();
}

std::optional<sweep::Value> find(const Config& config, const std::string& key) {
  const auto found = config.find(key);
  return found == config.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

FiguresKind kind_of(const ConfiguredCell& cell) {
  if (cell.record->backend == "server")
    return {"server", shown(cell.value("server.kind")) + ' ' + shown(cell.value("server.version")),
            "-"};
  return {cell.record->backend, shown(cell.value("sim.cost_model")),
          shown(cell.value("engine.emulate"))};
}

std::string to_text(const FiguresKind& kind) {
  std::string text = (kind.backend == "sim" ? "MODELLED (" : "MEASURED (") + kind.backend;
  if (kind.cost_model != "-") text += ", " + kind.cost_model;
  if (kind.emulate != "-") text += ", pool of " + kind.emulate;
  return text + ')';
}

Config parse_config(const std::string& canonical_json, const std::string& of) {
  const auto fail = [&](const std::string& found) {
    throw sweep::ArchiveDamaged("the configuration of " + of +
                                " is not an object of scalars: found " + found.substr(0, 200));
  };
  Config config;
  try {
    const Json object = sweep::strict_json<Json>(canonical_json);
    if (!object.is_object()) fail(text_of(object));
    for (const auto& [key, value] : object.items()) {
      if (value.is_structured() || value.is_null()) fail(key + " = " + text_of(value));
      config.emplace(key, value_of(value));
    }
  } catch (const sweep::JsonRefused& refused) {
    fail(refused.what());
  }
  return config;
}

std::vector<ConfigDifference> config_differences(const Config& a, const Config& b) {
  std::set<std::string> keys;
  for (const Config* config : {&a, &b})
    for (const auto& [key, value] : *config) keys.insert(key);
  std::vector<ConfigDifference> differences;
  for (const std::string& key : keys) {
    const auto in_a = find(a, key), in_b = find(b, key);
    if (!in_a || !in_b || !sweep::same_value(*in_a, *in_b))
      differences.push_back({key, in_a, in_b});
  }
  return differences;
}

std::string shown(const std::optional<sweep::Value>& value) {
  if (!value) return "-";
  return sweep::bare_text(*value);
}

double number_of(const std::optional<sweep::Value>& value) {
  const auto* real = value ? std::get_if<double>(&*value) : nullptr;
  const auto* whole = value ? std::get_if<std::int64_t>(&*value) : nullptr;
  if (whole != nullptr) return static_cast<double>(*whole);
  return real != nullptr ? *real : sweep::kNotObserved;
}

ConfiguredCell::ConfiguredCell(const sweep::CellRecord& cell)
    : record(&cell),
      config(parse_config(cell.config_json,
                          "cell " + std::to_string(cell.index) + " (" + cell.label + ')')) {}

ConfiguredCell::ConfiguredCell(const sweep::CellRecord& cell, sweep::ArchiveReader& archive)
    : ConfiguredCell(cell) {
  load = [&archive, row = cell.index](std::string_view name) {
    return archive.load_table(row, name);
  };
}

std::vector<ConfiguredCell> cells_of(sweep::ArchiveReader& archive) {
  std::vector<ConfiguredCell> cells;
  for (const sweep::CellRecord& cell : archive.cells()) cells.emplace_back(cell, archive);
  return cells;
}

void derive_figures(ConfiguredCell& cell, sweep::ArchiveReader& reader, int row) {
  if (!cell.record->has_result(sweep::RecordLevel::jobs) ||
      cell.find_figure(kFirstTokenP99) != nullptr)
    return;
  const sweep::Table jobs = reader.load_table(row, "jobs");
  std::vector<double> seconds = jobs.values<double>("t_first_token_s");
  std::ranges::transform(seconds, jobs.values<double>("t_arrive_s"), seconds.begin(), std::minus());
  cell.derived.push_back({kFirstTokenP99, percentile(observed(seconds), 99), "s"});
}

int block_tokens(const ConfiguredCell& cell) {
  const double tokens = number_of(cell.value("engine.block_size"));
  return std::isnan(tokens) ? 16 : static_cast<int>(tokens);
}

std::optional<sweep::Value> ConfiguredCell::value(const std::string& key) const {
  if (key == "policy") {
    for (const sweep::Note& note : record->notes)
      if (note.name == key) return note.text;
  }
  return written(key);
}

std::optional<sweep::Value> ConfiguredCell::written(const std::string& key) const {
  // The column of an axis that some cells lack is floating point; the configuration has the value
  // as written.
  if (const auto written = find(config, key)) return written;
  if (const sweep::Value* value = sweep::value_on(record->axes, key)) return *value;
  if (key == "server.profile" && record->backend == "server") return written("policy");
  return std::nullopt;
}

const sweep::Figure* ConfiguredCell::find_figure(std::string_view name) const {
  const sweep::Figure* stored = sweep::find_named(record->figures, name);
  return stored != nullptr ? stored : sweep::find_named(derived, name);
}

double ConfiguredCell::figure(std::string_view name) const {
  const sweep::Figure* found = find_figure(name);
  return found == nullptr ? sweep::kNotObserved : found->value;
}

std::string known_metric(const std::vector<ConfiguredCell>& cells, const std::string& name) {
  std::set<std::string> names;
  for (const ConfiguredCell& cell : cells) {
    for (const auto* figures : {&cell.record->figures, &cell.derived})
      for (const sweep::Figure& figure : *figures) names.insert(figure.name);
  }
  for (const std::string& candidate : {name, name + "_mean_s"})
    if (names.contains(candidate)) return candidate;
  // Among equally near names a mean of whole jobs is meant, then another mean.
  std::vector<std::string> nearest(names.begin(), names.end());
  std::ranges::stable_sort(nearest, {}, [](const std::string& each) {
    if (each == "jct_wall_mean_s") return 0;
    return each.ends_with("_mean_s") ? 1 : each.starts_with("jct_wall_") ? 2 : 3;
  });
  if (names.empty())
    throw CompareError("none of " + std::to_string(cells.size()) +
                       " chosen cells has a result; kvsweep status A.h5 says why");
  throw CompareError("no cell with a result has the figure \"" + name + '"' +
                     sweep::suggestion(name, nearest) + "; there are " + sweep::joined(names));
}

}  // namespace analysis
