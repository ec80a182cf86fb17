#include "analysis/compare/labels.hpp"

#include <optional>

#include "analysis/text/text_table.hpp"
#include "sweeps/definition/assignment.hpp"

namespace analysis {
namespace {

/// Adds "order=plugin" as a key of policies; false: it is no setting.
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
