#include "sweeps/spec/params.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "sweeps/spec/messages.hpp"
#include "sweeps/spec/toml_file.hpp"

namespace sweep {

namespace {

std::string shortest(double number) {
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, number);
  return {buffer, end};
}

std::string toml_float(double number) {
  const std::string digits = shortest(number);
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

ParamReader::ParamReader(const ParamMap& params, std::string document,
                         const std::vector<std::string>* known)
    : params_(&params), known_(known), document_(std::move(document)) {
  if (known != nullptr) asked_.reserve(known->size());
}

bool ParamReader::is_known(const std::string& key) const {
  return asked(key) || (known_ != nullptr && std::ranges::binary_search(*known_, key));
}

bool ParamReader::has(const std::string& key) const { return params_->contains(key); }

const Value* ParamReader::ask(const std::string& key) {
  asked_.emplace(key);
  const auto found = params_->find(key);
  return found == params_->end() ? nullptr : &found->second.value;
}

void ParamReader::fail_type(const std::string& key, const std::string& wanted) const {
  const Value& value = params_->at(key).value;
  const auto* text = std::get_if<std::string>(&value);
  const bool is_list = text != nullptr && text->find(',') != std::string::npos;
  fail_at(where(key),
          key + " must be " + wanted + ", found " + describe(value) +
              (is_list && where(key).line == 0 ? values_belong_in_file(key, *text) : ""));
}

bool ParamReader::boolean(const std::string& key, bool fallback) {
  const Value* value = ask(key);
  if (value == nullptr) return fallback;
  if (const bool* boolean = std::get_if<bool>(value)) return *boolean;
  fail_type(key, "true or false");
}

std::int64_t ParamReader::integer(const std::string& key, std::int64_t fallback, std::int64_t min,
                                  std::int64_t max) {
  using Limits = std::numeric_limits<std::int64_t>;
  const Value* value = ask(key);
  if (value == nullptr) return fallback;
  const auto* integer = std::get_if<std::int64_t>(value);
  if (integer == nullptr) fail_type(key, "an integer");
  if (*integer >= min && *integer <= max) return *integer;
  fail(key, "must be " + range_text(std::to_string(min), min != Limits::min(), std::to_string(max),
                                    max != Limits::max()));
}

double ParamReader::number(const std::string& key, double fallback, double min, double max) {
  const Value* value = ask(key);
  if (value == nullptr) return fallback;
  const auto* integer = std::get_if<std::int64_t>(value);
  const auto* number = std::get_if<double>(value);
  if (integer == nullptr && number == nullptr) fail_type(key, "a number");
  const double found = integer != nullptr ? static_cast<double>(*integer) : *number;
  if (found >= min && found <= max) return found;  // false for NaN
  constexpr double kHuge = std::numeric_limits<double>::max();
  fail(key, "must be " + range_text(shortest(min), min > -kHuge, shortest(max), max < kHuge));
}

std::string ParamReader::text(const std::string& key, const std::string& fallback) {
  const Value* value = ask(key);
  if (value == nullptr) return fallback;
  if (const auto* text = std::get_if<std::string>(value)) return *text;
  fail_type(key, "a string");
}

std::string ParamReader::choice(const std::string& key, const std::string& fallback,
                                const std::vector<std::string>& allowed) {
  if (!has(key)) return text(key, fallback);
  const std::string found = text(key, fallback);
  if (std::find(allowed.begin(), allowed.end(), found) != allowed.end()) return found;
  const std::vector<Value> values(allowed.begin(), allowed.end());
  fail_at(where(key), must_be_one_of(key, values, found));
}

void ParamReader::require(const std::string& key, const std::string& why) const {
  if (has(key)) return;
  std::vector<std::string> unknown;
  for (const auto& [name, param] : *params_)
    if (!is_known(name)) unknown.push_back(name);
  const std::string near = did_you_mean(key, unknown);
  const std::string hint = near.empty() ? "" : " (is " + in_quotes(near) + " a misspelling of it?)";
  throw SpecError(document_ + ": the key " + in_quotes(key) + " is missing" + why + hint);
}

Location ParamReader::where(const std::string& key) const {
  const auto found = params_->find(key);
  return found == params_->end() ? Location{document_, 0, 0} : found->second.where;
}

void ParamReader::reject_unknown() const {
  for (const auto& [key, param] : *params_) {
    if (asked(key)) continue;
    std::vector<std::string> candidates(asked_.begin(), asked_.end());
    std::ranges::sort(candidates);  // of equally near ones the first is suggested
    if (known_ != nullptr) candidates.insert(candidates.end(), known_->begin(), known_->end());
    fail_at(param.where, "unknown key " + in_quotes(key) + suggestion(key, candidates));
  }
}

void ParamReader::fail(const std::string& key, const std::string& problem) const {
  const auto found = params_->find(key);
  const std::string value =
      found == params_->end() ? "" : ", found " + shown(key, found->second.value);
  fail_at(where(key), key + " " + problem + value);
}

}  // namespace sweep
