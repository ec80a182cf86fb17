#pragma once
// Private to this room: typed values from a JSON object, with errors that name file and key.
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "sweeps/text/input_text.hpp"
#include "sweeps/text/strict_json.hpp"
#include "workers/engine/base/errors.hpp"

namespace model {

using nlohmann::json;

/// The text of a file. Throws engine::InputError when it cannot be read.
inline std::string read_text(const std::filesystem::path& file) {
  constexpr std::size_t kMost = std::size_t{64} << 20;  // an index of 10,000 tensors has 1 MB
  std::ifstream in(file, std::ios::binary);
  if (!in) throw engine::InputError(file.string() + ": cannot be read");
  return sweep::input_text<engine::InputError>(in, file.string(), kMost);
}

/// A value as written in the file, shortened when long.
inline std::string shown(const json& value) {
  constexpr std::size_t kLongest = 120;  // bytes
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

/// Parses an object. `file` is for messages. Throws engine::InputError: not JSON, not an object.
inline json parse_object(const std::string& text, const std::string& file) {
  json parsed;
  try {
    parsed = sweep::strict_json(text);
  } catch (const sweep::JsonRefused& refused) {
    throw engine::InputError(file + ": is not JSON: " + refused.what());
  }
  if (!parsed.is_object())
    throw engine::InputError(file + ": found " + shown(parsed) + ", allowed: a JSON object");
  return parsed;
}

/// Keys of one object. A key with the value null counts as absent. An absent key without a fallback
/// is an error. All errors are engine::InputError "FILE: KEY: found ..., allowed: ...".
class JsonFields {
 public:
  JsonFields(const json& object, std::string file, std::string prefix = "")
      : object_(&object), file_(std::move(file)), prefix_(std::move(prefix)) {}

  bool has(const std::string& key) const { return find(key) != nullptr; }
  /// An integer in [1, max].
  int count(const std::string& key, int max, std::optional<int> fallback = {}) const {
    const std::string allowed = "an integer in [1, " + std::to_string(max) + "]";
    const json* value = need(key, fallback.has_value(), allowed);
    if (value == nullptr) return *fallback;
    if (!value->is_number_unsigned() || *value < 1 || *value > max) refuse(key, allowed);
    return value->get<int>();
  }
  /// A number in [min, max].
  double number(const std::string& key, double min, double max,
                std::optional<double> fallback = {}) const {
    const std::string allowed = "a number in [" + shown(min) + ", " + shown(max) + "]";
    const json* value = need(key, fallback.has_value(), allowed);
    if (value == nullptr) return *fallback;
    if (!value->is_number() || !(value->get<double>() >= min && value->get<double>() <= max))
      refuse(key, allowed);
    return value->get<double>();
  }
  bool boolean(const std::string& key, std::optional<bool> fallback = {}) const {
    const json* value = need(key, fallback.has_value(), "true or false");
    if (value == nullptr) return *fallback;
    if (!value->is_boolean()) refuse(key, "true or false");
    return value->get<bool>();
  }
  std::string text(const std::string& key, std::optional<std::string> fallback = {}) const {
    const json* value = need(key, fallback.has_value(), "a string");
    if (value == nullptr) return *fallback;
    if (!value->is_string()) refuse(key, "a string");
    return value->get<std::string>();
  }
  JsonFields object(const std::string& key) const {
    const json* value = need(key, false, "an object");
    if (!value->is_object()) refuse(key, "an object");
    return {*value, file_, prefix_ + key + "."};
  }
  const json& array(const std::string& key) const {
    const json* value = need(key, false, "an array");
    if (!value->is_array()) refuse(key, "an array");
    return *value;
  }

  /// Refuses any value of the key except `value`; an absent key is accepted.
  void only(const std::string& key, const json& value) const {
    if (has(key) && *find(key) != value) refuse(key, shown(value));
  }
  /// Refuses the key whatever its value.
  void unsupported(const std::string& key) const {
    if (has(key)) refuse(key, "null, since this is not supported");
  }
  [[noreturn]] void refuse(const std::string& key, const std::string& allowed) const {
    const json* value = find(key);
    throw engine::InputError(file_ + ": " + prefix_ + key + ": found " +
                             (value == nullptr ? "nothing" : shown(*value)) +
                             ", allowed: " + allowed);
  }

 private:
  const json* find(const std::string& key) const {
    const auto found = object_->find(key);
    return found == object_->end() || found->is_null() ? nullptr : &*found;
  }
  /// The value, or null when it is absent and has a fallback.
  const json* need(const std::string& key, bool has_fallback, const std::string& allowed) const {
    const json* value = find(key);
    if (value == nullptr && !has_fallback) refuse(key, allowed);
    return value;
  }

  const json* object_;  // must outlive the fields
  std::string file_;
  std::string prefix_;
};

}  // namespace model
