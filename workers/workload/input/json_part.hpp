#pragma once
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "workers/workload/input/json_lines.hpp"

namespace workload {

/// The JSON of a line. Throws engine::InputError with file, line and, for text that is not JSON,
/// column (in bytes, from 1) for what sweep::strict_json refuses.
nlohmann::json parsed_line(std::string_view text, const InputPlace& place);

/// Takes values out of the JSON of a line. Everything throws engine::InputError, which names the
/// file, the line and the part of it, for a value that is not as `what` must be.
struct JsonPart {
  using json = nlohmann::json;

  InputPlace place;
  std::string name;  // of the part, as "turns[3]"; empty: the line

  [[noreturn]] void refuse(const std::string& problem) const;
  /// Refuses what is no object, and an object with other members than these.
  void only(const json& value, const std::string& what,
            std::initializer_list<const char*> allowed) const;
  const json& object(const json& value, const std::string& what) const;
  const json& list(const json& value, const std::string& what) const;
  std::string text(const json& value, const std::string& what) const;
  /// Text of 1 to 200 bytes.
  std::string short_text(const json& value, const std::string& what) const;
  std::int64_t whole(const json& value, const std::string& what, std::int64_t low,
                     std::int64_t high) const;
  double number(const json& value, const std::string& what, double low, double high) const;

 private:
  [[noreturn]] void refuse_value(const json& value, const std::string& what,
                                 const std::string& allowed) const;
};

}  // namespace workload
