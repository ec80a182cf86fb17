#include "analysis/compare/published.hpp"

#include "analysis/text/list.hpp"
#include "analysis/text/text_table.hpp"
#include "sweeps/definition/assignment.hpp"

namespace analysis {
namespace {

constexpr std::string_view kApplies = "applies.", kRate = "jps-", kFigure = "figure.";

/// "h100-80gb.jps-3.cpu_offload-16G"
Published::Entry entry_of(const std::string& key, const sweep::Param& param) {
  const std::size_t rate = key.find('.'), variant = key.rfind('.');
  Published::Entry entry{key.substr(0, rate), key.substr(variant + 1), 0, number_of(param.value)};
  if (!(entry.value > 0)) sweep::fail_value(key, param, "must be a number above 0");
  const bool has_rate =
      rate != variant && std::string_view(key).substr(rate + 1).starts_with(kRate);
  if (!has_rate) sweep::fail_value(key, param, "must be of the form card.jps-RATE.policy");
  const std::size_t first = rate + 1 + kRate.size();
  const auto jps = number_from(std::string_view(key).substr(first, variant - first));
  if (!jps) sweep::fail_value(key, param, "must have a number behind jps-");
  entry.jps = *jps;
  return entry;
}

/// Adds a setting such as "order=plugin" to `meant`, as a key of policies. False: not a setting.
bool add_setting(sweep::Alternative& meant, const std::string& setting) {
  const std::size_t equals = setting.find('=');
  if (equals == std::string::npos || equals == 0) return false;
  const std::string name = setting.substr(0, equals);
  const std::string key = (name == "profile" ? "server." : "policy.") + name;
  try {
    meant.emplace_back(key, sweep::parse_value(setting.substr(equals + 1), key, ""));
  } catch (const sweep::SpecError&) {
    return false;
  }
  return true;
}

/// Takes "-128G" from the end of a label; empty if it has none.
std::optional<double> take_gib(std::string& label) {
  const std::size_t dash = label.rfind('-');
  if (dash == std::string::npos || !label.ends_with('G')) return std::nullopt;
  const auto gib = number_from(std::string_view(label).substr(dash + 1, label.size() - dash - 2));
  if (gib) label.resize(dash);
  return gib;
}

/// Takes the settings in brackets from the end of a label: "a=1, b=2" of "name (a=1, b=2)".
std::string take_bracket(std::string& label) {
  const std::size_t open = label.find(" (");
  if (open == std::string::npos || !label.ends_with(')')) return "";
  const std::string inside = label.substr(open + 2, label.size() - open - 3);
  label.resize(open);
  return inside;
}

}  // namespace

double Published::value(const ConfiguredCell& cell, const std::string& wanted) const {
  if (wanted != metric) return sweep::kNotObserved;
  for (const auto& [key, required] : applies) {
    const auto found = cell.value(key);
    if (!found || !sweep::same_value(*found, required)) return sweep::kNotObserved;
  }
  return value_at(shown(cell.value("gpu")), variant_of(cell), number_of(cell.value("jps")));
}

double Published::value_at(const std::string& gpu, const std::string& variant, double jps) const {
  for (const Entry& entry : entries)
    if (entry.gpu == gpu && entry.variant == variant && entry.jps == jps) return entry.value;
  return sweep::kNotObserved;
}

Published load_published(const std::string& path) {
  Published published;
  bool has_figures = false;  // a study's file, with [figure.NAME] tables
  for (const auto& [key, param] : sweep::load_flat_toml(path)) {
    if (key.starts_with(kFigure))
      has_figures = true;
    else if (key == "source")
      published.source = sweep::as_text(key, param);
    else if (key == "metric")
      published.metric = sweep::as_text(key, param);
    else if (key.starts_with(kApplies))
      published.applies.emplace(key.substr(kApplies.size()), param.value);
    else
      published.entries.push_back(entry_of(key, param));
  }
  if (published.source.empty() || (published.metric.empty() && !has_figures))
    throw sweep::SpecError(path + ": " + (published.source.empty() ? "source" : "metric") +
                           " is missing");
  return published;
}

std::vector<std::filesystem::path> toml_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  if (std::filesystem::is_directory(folder)) {
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.path().extension() == ".toml") paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  return paths;
}

std::vector<Published> all_published(const std::filesystem::path& folder) {
  return mapped(toml_files(folder), [](const auto& path) { return load_published(path.string()); });
}

std::string variant_of(const ConfiguredCell& cell) {
  const auto dram = cell.value("dram_gib");
  return shown(cell.value("policy")) + (dram ? '-' + shown(dram) + 'G' : "");
}

sweep::Alternative read_label(const std::string& key, const std::string& text) {
  if (key != "policy") return {};
  std::string label = text;
  const std::string bracket = take_bracket(label);
  const std::optional<double> gib = take_gib(label);
  const std::vector<std::string> parts = sweep::split(label, "+");
  const bool is_name_alone = label == text && parts.size() == 1;
  if (parts.empty() || is_name_alone) return {};
  sweep::Alternative meant = {{"policy", parts.front()}};
  for (std::size_t i = 1; i < parts.size(); ++i)
    if (!add_setting(meant, parts[i])) return {};
  for (const std::string& setting : sweep::split(bracket, ", "))
    if (!add_setting(meant, setting)) return {};
  if (gib) meant.emplace_back("dram_gib", *gib);
  return meant;
}

}  // namespace analysis
