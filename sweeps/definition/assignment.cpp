#include "sweeps/definition/assignment.hpp"

#include <algorithm>

#include "sweeps/definition/messages.hpp"
#include "sweeps/definition/secrets.hpp"
#include "sweeps/definition/sweep_checks.hpp"
#include "sweeps/definition/toml_file.hpp"

namespace sweep {

namespace {

/// A word that needs no quotes on a command line.
bool is_bare(std::string_view text) {
  return !text.empty() && std::string_view("\"'[{").find(text.front()) == std::string_view::npos &&
         std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20; });
}

toml::table parse_as_value(const std::string& text) { return parse_toml_text("v = " + text, ""); }

/// A text with commas in place of one that has none is meant as several values.
void refuse_several(const Assignment& given, const Value& before) {
  const auto* text = std::get_if<std::string>(&given.param.value);
  const auto* old = std::get_if<std::string>(&before);
  if (text == nullptr || text->find(',') == std::string::npos) return;
  if (old != nullptr && old->find_first_of(", ") != std::string::npos) return;
  std::vector<std::string> values = split(*text, ",");
  if (old != nullptr)
    for (std::string& each : values) each = in_quotes(each);
  fail_at(given.param.where, given.key + " must be a single value, found " + in_quotes(*text) +
                                 values_belong_in_file(given.key, joined(values)));
}

void assign_axis(SweepSpec& spec, const Assignment& given) {
  for (const Axis& axis : spec.axes)
    if (axis.name == given.key && !axis.values.empty())
      refuse_several(given, axis.values.front().value);
  for (Axis& axis : spec.axes) {
    if (axis.name == given.key) axis = {given.key, {given.param}, given.param.where};
  }
}

void assign_repeat(SweepSpec& spec, const Assignment& given) {
  ParamMap params = {{"repeat.seed", {spec.repeat.seed, {}}}};
  params["repeat.n"] = {spec.repeat.n, {}};
  params[given.key] = given.param;
  spec.repeat = repeat_of(params, spec.path);
}

void assign_name(SweepSpec& spec, const Assignment& given) {
  const ParamMap params = {{given.key, given.param}};
  const std::string name = ParamReader(params, spec.path).text(given.key, "");
  check_name(name, given.param.where);
  spec.name = name;
}

void assign_base(SweepSpec& spec, const Assignment& given) {
  const auto before = spec.base.find(given.key);
  if (before != spec.base.end()) refuse_several(given, before->second.value);
  spec.base[given.key] = given.param;
  for (Override& each : spec.overrides) each.set.erase(given.key);
  for (Include& each : spec.includes) each.set.erase(given.key);
}

}  // namespace

Value parse_value(std::string_view text, const std::string& key, const std::string& flag) {
  const Location where{flag, 0, 0};
  const std::string written(text);
  try {
    const toml::table parsed = parse_as_value(written);
    const toml::node* node = parsed.get("v");
    const bool is_date = node->is_date() || node->is_time() || node->is_date_time();
    if (parsed.size() == 1 && !is_date) return scalar_of(*node, key, where);
  } catch (const SpecError&) {
    if (!is_bare(text) && is_hidden(key, text))
      fail_at(where, key + " must be a single value; what was found is not shown");
    if (!is_bare(text))
      fail_at(where, key + " must be a single value, found " +
                         (text.empty() ? "nothing" : written) +
                         (text.starts_with('[') ? values_belong_in_file(key, written) : ""));
  }
  try {
    const toml::table parsed = parse_as_value(in_quotes(text));
    return scalar_of(*parsed.get("v"), key, where);
  } catch (const SpecError&) {
    fail_at(where, key + " must be UTF-8 text, found " + in_quotes(text));
  }
}

Assignment parse_assignment(std::string_view text, const std::string& flag) {
  const std::size_t equals = text.find('=');
  const std::string key(text.substr(0, equals));
  if (equals == std::string_view::npos || !is_plain_word(key)) {
    fail_at({flag, 0, 0}, "expected key=value, found " + in_quotes(text));
  }
  return {key, {parse_value(text.substr(equals + 1), key, flag), {flag, 0, 0}}};
}

void assign(SweepSpec& spec, const Assignment& given) {
  const std::string section = given.key.substr(0, given.key.find('.'));
  if (spec.find_axis(given.key) != nullptr) return assign_axis(spec, given);
  if (section == "repeat") return assign_repeat(spec, given);
  if (given.key == "sweep.name") return assign_name(spec, given);
  if (given.key == "sweep.backend" || given.key == "sweep.record") {
    (given.key == "sweep.backend" ? spec.backend : spec.record) = given.param;
    return;
  }
  if (is_section(section) && section != "sweep") {
    fail_at(given.param.where, in_quotes(given.key) + " cannot be set from the command line");
  }
  assign_base(spec, given);
}

}  // namespace sweep
