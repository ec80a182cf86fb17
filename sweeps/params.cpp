#include "sweeps/params.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>

#include "sweeps/toml_file.hpp"

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

std::string toml_string(std::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (c == '\t') {
      quoted += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      quoted += {'\\', 'u', '0', '0', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

/// Insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
  std::iota(previous.begin(), previous.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, substituted});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) current[j] = std::min(current[j], before[j - 2] + 1);
    }
    before.swap(previous);
    previous.swap(current);
  }
  return previous[b.size()];
}

/// Small when `word` may be a slip for `candidate`; a bare word is also held against the part
/// behind the last dot.
std::size_t slip(const std::string& word, const std::string& candidate) {
  constexpr std::size_t kPrefixOfThree = 3;
  if (word.size() >= kPrefixOfThree && candidate.starts_with(word)) return 1;
  const std::size_t whole = edit_distance(word, candidate);
  const std::size_t dot = candidate.rfind('.');
  if (dot == std::string::npos || word.find('.') != std::string::npos) return whole;
  return std::min(whole, edit_distance(word, candidate.substr(dot + 1)));
}

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string near = did_you_mean(word, candidates);
  return near.empty() ? "" : " (did you mean " + toml_string(near) + "?)";
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
  return toml_string(std::get<std::string>(value));
}

std::string to_text(const Location& where) {
  if (where.line == 0) return where.file;
  return where.file + ':' + std::to_string(where.line) + ':' + std::to_string(where.column);
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string wanted = lower(word);
  std::size_t best = std::max<std::size_t>(1, wanted.size() / 3) + 1;
  std::string nearest;
  for (const std::string& candidate : candidates) {
    if (candidate == word) continue;
    const std::size_t distance = slip(wanted, lower(candidate));
    if (distance < best) best = distance, nearest = candidate;
  }
  return nearest;
}

ParamMap load_flat_toml(const std::string& path) {
  ParamMap params;
  flatten(parse_toml_file(path), "", path, params);
  return params;
}

ParamReader::ParamReader(const ParamMap& params, std::string document)
    : params_(&params), document_(std::move(document)) {}

bool ParamReader::has(const std::string& key) const { return params_->contains(key); }

const Value* ParamReader::ask(const std::string& key) {
  asked_.insert(key);
  const auto found = params_->find(key);
  return found == params_->end() ? nullptr : &found->second.value;
}

void ParamReader::fail_type(const std::string& key, const std::string& wanted) const {
  const Value& value = params_->at(key).value;
  fail_at(where(key), key + " must be " + wanted + ", found " + describe(value));
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
  std::string list;
  for (const std::string& word : allowed) list += (list.empty() ? "" : ", ") + toml_string(word);
  fail_at(where(key), key + " must be one of " + list + ", found " + toml_string(found) +
                          suggestion(found, allowed));
}

void ParamReader::require(const std::string& key) const {
  if (has(key)) return;
  std::vector<std::string> present;
  for (const auto& [name, param] : *params_) present.push_back(name);
  const std::string near = did_you_mean(key, present);
  const std::string hint = near.empty() ? "" : " (is " + toml_string(near) + " meant to be it?)";
  throw SpecError(document_ + ": the key " + toml_string(key) + " is missing" + hint);
}

Location ParamReader::where(const std::string& key) const {
  const auto found = params_->find(key);
  return found == params_->end() ? Location{document_, 0, 0} : found->second.where;
}

void ParamReader::reject_unknown() const {
  for (const auto& [key, param] : *params_) {
    if (asked_.contains(key)) continue;
    const std::vector<std::string> candidates(asked_.begin(), asked_.end());
    fail_at(param.where, "unknown key " + toml_string(key) + suggestion(key, candidates));
  }
}

void ParamReader::fail(const std::string& key, const std::string& problem) const {
  const auto found = params_->find(key);
  const std::string value =
      found == params_->end() ? "" : ", found " + to_text(found->second.value);
  fail_at(where(key), key + " " + problem + value);
}

}  // namespace sweep
