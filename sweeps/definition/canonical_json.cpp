#include "sweeps/definition/canonical_json.hpp"

#include <algorithm>
#include <cmath>

namespace sweep {

namespace {

constexpr std::size_t kUsualBytes = 2048;  // of an object

std::string json_number(double number) {
  constexpr double kExactIntegers = 9007199254740992.0;  // 2^53
  if (std::isinf(number)) return number > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  if (std::trunc(number) == number && std::abs(number) < kExactIntegers) {
    return std::to_string(static_cast<std::int64_t>(number));
  }
  return shortest_text(number);
}

void append_string(std::string& json, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  const auto is_plain = [](char c) {
    return c != '"' && c != '\\' && static_cast<unsigned char>(c) >= 0x20;
  };
  json += '"';
  while (!text.empty()) {
    const auto plain =
        static_cast<std::size_t>(std::ranges::find_if_not(text, is_plain) - text.begin());
    json += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const char c = text.front();
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20) {
      json += {'\\', 'u', '0', '0', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      json += {'\\', c};
    }
    text.remove_prefix(1);
  }
  json += '"';
}

void append_value(std::string& json, const Value& value) {
  if (const bool* boolean = std::get_if<bool>(&value)) {
    json += *boolean ? "true" : "false";
  } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    json += std::to_string(*integer);
  } else if (const double* number = std::get_if<double>(&value)) {
    json += json_number(*number);
  } else {
    append_string(json, std::get<std::string>(value));
  }
}

const Value& value_of(const Value& value) { return value; }
const Value& value_of(const Param& param) { return param.value; }

/// For messages.
std::string place_of(const Value&) { return ""; }
std::string place_of(const Param& param) { return to_text(param.where) + ": "; }

std::string object_of(const auto& members) {
  std::string object = "{";
  object.reserve(kUsualBytes);
  for (const auto& [key, entry] : members) {
    const Value& value = value_of(entry);
    const double* number = std::get_if<double>(&value);
    if (number != nullptr && std::isnan(*number))
      throw SpecError(place_of(entry) + key + " must be a number, found nan");
    if (object.size() > 1) object += ',';
    append_string(object, key);
    object += ':';
    append_value(object, value);
  }
  return object + '}';
}

}  // namespace

std::string canonical_json(const std::map<std::string, Value>& values) { return object_of(values); }

std::string canonical_json(const ParamMap& params) { return object_of(params); }

}  // namespace sweep
