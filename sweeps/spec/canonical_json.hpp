#pragma once
#include <map>
#include <string>
#include <string_view>

#include "sweeps/spec/params.hpp"

namespace sweep {

/// One JSON object on one line that is the same for the same parameters, however they were written
/// or ordered: keys sorted by their bytes and left dotted, no spaces, strings as UTF-8 with only
/// what JSON must escape escaped, numbers as the shortest text that reads back to the same value,
/// integral ones below 2^53 without point or exponent (so 1 and 1.0 are the same parameter),
/// infinities as "Infinity" and "-Infinity". Throws SpecError for a NaN, which is equal to nothing.
std::string canonical_json(const std::map<std::string, Value>& values);
std::string canonical_json(const ParamMap& params);

/// `text` as a JSON string with its quotes.
std::string json_string(std::string_view text);

}  // namespace sweep
