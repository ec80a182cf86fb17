#include "sweeps/definition/params.hpp"

#include <algorithm>

#include "sweeps/definition/input_file.hpp"
#include "sweeps/definition/messages.hpp"
#include "sweeps/definition/toml_file.hpp"

namespace sweep {

namespace {

std::string toml_float(double number) {
  const std::string digits = shortest_text(number);
  // An integral float keeps its type when it is read back.
  const bool looks_integral = digits.find_first_not_of("-0123456789") == std::string::npos;
  return looks_integral ? digits + ".0" : digits;
}

std::string range_text(const std::string& min, bool has_min, const std::string& max, bool has_max) {
  if (has_min && has_max) return "between " + min + " and " + max;
  if (has_min) return "at least " + min;
  if (has_max) return "at most " + max;
  return "a finite number";
}

[[noreturn]] void fail_type(const std::string& key, const Param& param, const std::string& wanted) {
  const auto* text = std::get_if<std::string>(&param.value);
  const bool is_list = text != nullptr && text->find(',') != std::string::npos;
  fail_at(param.where,
          key + " must be " + wanted + ", found " + describe(param.value) +
              (is_list && param.where.line == 0 ? values_belong_in_file(key, *text) : ""));
}

}  // namespace

std::string to_text(const Value& value) {
  if (const bool* boolean = std::get_if<bool>(&value)) return *boolean ? "true" : "false";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const double* number = std::get_if<double>(&value)) return toml_float(*number);
  return in_quotes(std::get<std::string>(value));
}

std::string bare_text(const Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text != nullptr ? *text : to_text(value);
}

std::string to_text(const AxisValues& axes) {
  std::string text;
  for (const auto& [axis, value] : axes)
    text += (text.empty() ? "" : " ") + axis + '=' + bare_text(value);
  return text;
}

const Value* value_on(const AxisValues& axes, std::string_view axis) {
  for (const auto& [name, value] : axes)
    if (name == axis) return &value;
  return nullptr;
}

bool same_value(const Value& a, const Value& b) {
  const auto* integer = std::get_if<std::int64_t>(&a);
  const auto* number = std::get_if<double>(&b);
  if (integer != nullptr && number != nullptr) return static_cast<double>(*integer) == *number;
  if (a.index() > b.index()) return same_value(b, a);
  return a == b;
}

std::string to_text(const Location& where) {
  if (where.line == 0) return where.file.text();
  return where.file.text() + ':' + std::to_string(where.line) + ':' + std::to_string(where.column);
}

ParamMap load_flat_toml(const std::string& path) {
  const toml::table document = parse_toml_text(read_file(path), path);
  ParamMap params;
  for (const Leaf& leaf : leaves_of(document, path)) {
    params[leaf.key] = {scalar_of(*leaf.node, leaf.key, leaf.where), leaf.where};
  }
  return params;
}

bool as_boolean(const std::string& key, const Param& param) {
  if (const bool* boolean = std::get_if<bool>(&param.value)) return *boolean;
  fail_type(key, param, "true or false");
}

std::int64_t as_integer(const std::string& key, const Param& param, std::int64_t min,
                        std::int64_t max) {
  using Limits = std::numeric_limits<std::int64_t>;
  const auto* integer = std::get_if<std::int64_t>(&param.value);
  if (integer == nullptr) fail_type(key, param, "an integer");
  if (*integer >= min && *integer <= max) return *integer;
  fail_value(key, param,
             "must be " + range_text(std::to_string(min), min != Limits::min(), std::to_string(max),
                                     max != Limits::max()));
}

double as_number(const std::string& key, const Param& param, double min, double max) {
  const auto* integer = std::get_if<std::int64_t>(&param.value);
  const auto* number = std::get_if<double>(&param.value);
  if (integer == nullptr && number == nullptr) fail_type(key, param, "a number");
  const double found = integer != nullptr ? static_cast<double>(*integer) : *number;
  if (found >= min && found <= max) return found;  // false for NaN
  constexpr double kHuge = std::numeric_limits<double>::max();
  fail_value(
      key, param,
      "must be " + range_text(shortest_text(min), min > -kHuge, shortest_text(max), max < kHuge));
}

const std::string& as_text(const std::string& key, const Param& param) {
  if (const auto* text = std::get_if<std::string>(&param.value)) return *text;
  fail_type(key, param, "a string");
}

const std::string& as_choice(const std::string& key, const Param& param,
                             const std::vector<std::string>& allowed) {
  const std::string& found = as_text(key, param);
  if (std::ranges::find(allowed, found) != allowed.end()) return found;
  fail_at(param.where, must_be_one_of(key, {allowed.begin(), allowed.end()}, found));
}

void fail_value(const std::string& key, const Param& param, const std::string& problem) {
  fail_at(param.where, key + ' ' + problem + ", found " + shown(key, param.value));
}

void fail_missing(const std::string& document, const std::string& key, const std::string& why,
                  const std::vector<std::string>& unknown) {
  const std::string near = did_you_mean(key, unknown);
  const std::string hint = near.empty() ? "" : " (is " + in_quotes(near) + " a misspelling of it?)";
  throw SpecError(document + ": the key " + in_quotes(key) + " is missing" + why + hint);
}

void fail_unknown(const std::string& key, const Param& param,
                  const std::vector<std::string>& known) {
  fail_at(param.where, "unknown key " + in_quotes(key) + suggestion(key, known));
}

void ParamReader::require(const std::string& key) const {
  if (has(key)) return;
  std::vector<std::string> unknown;
  for (const auto& [name, param] : params_)
    if (!asked_.contains(name)) unknown.push_back(name);
  fail_missing(document_, key, "", unknown);
}

Location ParamReader::where(const std::string& key) const {
  const auto found = params_.find(key);
  return found == params_.end() ? Location{document_, 0, 0} : found->second.where;
}

void ParamReader::reject_unknown() const {
  for (const auto& [key, param] : params_)
    if (!asked_.contains(key)) fail_unknown(key, param, {asked_.begin(), asked_.end()});
}

void ParamReader::fail(const std::string& key, const std::string& problem) const {
  const auto found = params_.find(key);
  if (found != params_.end()) fail_value(key, found->second, problem);
  throw SpecError(document_ + ": " + key + ' ' + problem);
}

}  // namespace sweep
