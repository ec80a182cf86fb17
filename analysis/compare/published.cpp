#include "analysis/compare/published.hpp"

#include <algorithm>
#include <charconv>

namespace analysis {
namespace {

constexpr std::string_view kApplies = "applies.", kRate = "jps-", kFigure = "figure.";

[[noreturn]] void fail(const std::string& key, const sweep::Param& param,
                       const std::string& problem) {
  throw sweep::SpecError(sweep::to_text(param.where) + ": " + key + ' ' + problem + ", found " +
                         sweep::to_text(param.value));
}

/// "h100-80gb.jps-3.cpu_offload-16G"
Published::Entry entry_of(const std::string& key, const sweep::Param& param) {
  const std::size_t rate = key.find('.'), variant = key.rfind('.');
  Published::Entry entry{key.substr(0, rate), key.substr(variant + 1), 0, number_of(param.value)};
  if (!(entry.value > 0)) fail(key, param, "must be a number above 0");
  const bool has_rate =
      rate != variant && std::string_view(key).substr(rate + 1).starts_with(kRate);
  if (!has_rate) fail(key, param, "must be of the form card.jps-RATE.policy");
  const std::size_t first = rate + 1 + kRate.size();
  const auto [end, error] = std::from_chars(key.data() + first, key.data() + variant, entry.jps);
  if (error != std::errc() || end != key.data() + variant)
    fail(key, param, "must have a number behind jps-");
  return entry;
}

std::string text_of(const std::string& key, const sweep::Param& param) {
  const auto* text = std::get_if<std::string>(&param.value);
  if (text == nullptr) fail(key, param, "must be a string");
  return *text;
}

}  // namespace

double Published::value(const ConfiguredCell& cell, const std::string& wanted) const {
  if (wanted != metric) return sweep::kNotObserved;
  for (const auto& [key, required] : applies) {
    const auto found = cell.value(key);
    if (!found || !sweep::same_value(*found, required)) return sweep::kNotObserved;
  }
  const auto rate = cell.value("jps");
  if (!rate) return sweep::kNotObserved;
  const std::string card = shown(cell.value("gpu")), variant = variant_of(cell);
  for (const Entry& entry : entries) {
    if (entry.gpu == card && entry.variant == variant && entry.jps == number_of(rate))
      return entry.value;
  }
  return sweep::kNotObserved;
}

Published load_published(const std::string& path) {
  Published published;
  bool has_figures = false;  // a study's file, with [figure.NAME] tables
  for (const auto& [key, param] : sweep::load_flat_toml(path)) {
    if (key.starts_with(kFigure)) {
      has_figures = true;
    } else if (key == "source") {
      published.source = text_of(key, param);
    } else if (key == "metric") {
      published.metric = text_of(key, param);
    } else if (key.starts_with(kApplies)) {
      published.applies.add(key.substr(kApplies.size()), param.value);
    } else {
      published.entries.push_back(entry_of(key, param));
    }
  }
  if (published.source.empty() || (published.metric.empty() && !has_figures))
    throw sweep::SpecError(path + ": source and metric must be given");
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
  std::vector<Published> all;
  for (const std::filesystem::path& path : toml_files(folder))
    all.push_back(load_published(path.string()));
  return all;
}

std::string variant_of(const ConfiguredCell& cell) {
  const auto dram = cell.value("dram_gib");
  return shown(cell.value("policy")) + (dram ? '-' + shown(dram) + 'G' : "");
}

}  // namespace analysis
