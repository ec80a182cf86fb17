#include "sweeps/definition/sweep_checks.hpp"

#include <algorithm>
#include <cmath>

#include "sweeps/definition/messages.hpp"

namespace sweep {

namespace {

/// Tables that are not base parameters.
constexpr std::string_view kSections[] = {"schema",  "sweep",    "axes",   "repeat", "include",
                                          "exclude", "override", "figure", "tune",   "capacity"};

/// "numbers" hold together, whether written as integers or floats.
std::string_view kind_of(const Value& value) {
  if (std::holds_alternative<bool>(value)) return "booleans";
  return std::holds_alternative<std::string>(value) ? "strings" : "numbers";
}

}  // namespace

bool is_section(std::string_view key) {
  return std::find(std::begin(kSections), std::end(kSections), key) != std::end(kSections);
}

void check_table(const std::string& name, const Location& where) {
  const std::vector<std::string> sections(std::begin(kSections), std::end(kSections));
  const std::string near = did_you_mean(name, sections);
  if (!near.empty())
    fail_at(where,
            "unknown section " + in_quotes(name) + " (did you mean " + in_quotes(near) + "?)");
}

void check_name(const std::string& name, const Location& where) {
  if (is_plain_word(name)) return;
  fail_at(where,
          "sweep.name must consist of letters, digits, '.', '_' and '-', found " + in_quotes(name));
}

void check_axis(const std::string& name, const std::vector<Param>& values, const Location& at) {
  if (values.empty()) fail_at(at, name + " must list at least one value");
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto& [value, where] = values[i];
    const double* number = std::get_if<double>(&value);
    if (number != nullptr && std::isnan(*number)) fail_at(where, name + " cannot hold nan");
    const std::string_view kind = kind_of(value), first = kind_of(values.front().value);
    if (kind != first) {
      fail_at(where, name + " holds " + std::string(first) + ", found " + describe(value));
    }
    for (std::size_t before = 0; before < i; ++before) {
      if (!same_value(values[before].value, value)) continue;
      fail_at(where, name + " lists " + shown(name, value) + " twice, first at " +
                         to_text(values[before].where));
    }
  }
}

Repeat repeat_of(const ParamMap& params, const std::string& document) {
  ParamReader reader(params, document);
  Repeat repeat;
  repeat.n = reader.integer("repeat.n", repeat.n, 1, kMostRepeats);
  repeat.seed = reader.integer("repeat.seed", repeat.seed, 0, kLargestSeed);
  reader.reject_unknown();
  return repeat;
}

}  // namespace sweep
