#pragma once
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "sweeps/text/strict_json.hpp"
#include "sweeps/text/text.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/workload/input/json_lines.hpp"

namespace workload {

/// The JSON of a line. Throws engine::InputError with file, line and, for text that is not JSON,
/// column (in bytes, from 1) for what sweep::strict_json refuses.
inline nlohmann::json parsed_line(std::string_view text, const InputPlace& place) {
  try {
    return sweep::strict_json(text);
  } catch (const sweep::JsonRefused& refused) {
    // The library's message begins with its own position, followed by the cause.
    const std::string_view what = refused.what();
    const std::size_t cause = refused.byte > 0 ? what.find(": ") : what.npos;
    const std::string column = refused.byte > 0 ? ":" + std::to_string(refused.byte) : "";
    throw engine::InputError(
        place.file + ":" + std::to_string(place.line) + column +
        ": not valid JSON: " + std::string(cause == what.npos ? what : what.substr(cause + 2)));
  }
}

/// Takes values out of the JSON of a line. Everything throws engine::InputError, which names the
/// file, the line and the part of it, for a value that is not as `what` must be.
struct JsonPart {
  using json = nlohmann::json;

  InputPlace place;
  std::string name;  // of the part, as "turns[3]"; empty: the line

  [[noreturn]] void refuse(const std::string& problem) const {
    workload::refuse(place, name.empty() ? problem : name + ": " + problem);
  }
  /// Refuses what is no object, and an object with other members than these.
  void only(const json& value, const std::string& what,
            std::initializer_list<const char*> allowed) const {
    for (const auto& [key, member] : object(value, what).items()) {
      if (std::ranges::find(allowed, key) == allowed.end())
        refuse(what + " has no " + json(key).dump() + "; allowed: " + sweep::joined(allowed));
    }
  }
  const json& object(const json& value, const std::string& what) const {
    if (!value.is_object()) refuse_value(value, what, "an object");
    return value;
  }
  const json& list(const json& value, const std::string& what) const {
    if (!value.is_array()) refuse_value(value, what, "a list");
    return value;
  }
  std::string text(const json& value, const std::string& what) const {
    if (!value.is_string()) refuse_value(value, what, "a string");
    return value;
  }
  /// Text of 1 to 200 bytes.
  std::string short_text(const json& value, const std::string& what) const {
    constexpr std::size_t kLongest = 200;
    std::string text = value.is_string() ? value.get<std::string>() : "";
    if (text.empty() || text.size() > kLongest)
      refuse_value(value, what, "a string of 1 to 200 bytes");
    return text;
  }
  std::int64_t whole(const json& value, const std::string& what, std::int64_t low,
                     std::int64_t high) const {
    const bool fits = value.is_number_integer() &&
                      (!value.is_number_unsigned() ||
                       value.get<std::uint64_t>() <= static_cast<std::uint64_t>(high)) &&
                      value.get<std::int64_t>() >= low && value.get<std::int64_t>() <= high;
    if (!fits)
      refuse_value(value, what,
                   "a whole number from " + std::to_string(low) + " to " + std::to_string(high));
    return value;
  }
  double number(const json& value, const std::string& what, double low, double high) const {
    if (value.is_number() && value.get<double>() >= low && value.get<double>() <= high)
      return value;
    refuse_value(value, what, sweep::formatted("a number from %g to %g", low, high));
  }

 private:
  [[noreturn]] void refuse_value(const json& value, const std::string& what,
                                 const std::string& allowed) const {
    constexpr std::size_t kLongestShown = 40;
    std::string found = value.is_object()  ? "an object"
                        : value.is_array() ? "a list"
                                           : value.dump();
    if (found.size() > kLongestShown) found = found.substr(0, kLongestShown) + "...";
    refuse(what + " is " + found + "; allowed: " + allowed);
  }
};

}  // namespace workload
