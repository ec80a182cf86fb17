#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace server {

inline constexpr int kDeepest = 256;  // levels of JSON: copying and writing a value recurse

/// The JSON object that `what` is. Throws BadAnswer for what is none or nested deeper than kDeepest
/// levels.
nlohmann::json object_of(std::string_view text, const std::string& what);

}  // namespace server
