#pragma once
#include <map>
#include <string>

#include "sweeps/definition/params.hpp"

namespace sweep {

/// A JSON object on one line. Equal parameters give equal text, however they were written or
/// ordered: dotted keys sorted by bytes, no spaces, UTF-8 with only the escapes that JSON requires,
/// and numbers as the shortest text that reads back to the same value. Integers below 2^53 have no
/// point or exponent, so 1 and 1.0 are the same parameter; infinities are "Infinity" and
/// "-Infinity". Throws SpecError for a NaN, which equals nothing.
std::string canonical_json(const std::map<std::string, Value>& values);
std::string canonical_json(const ParamMap& params);

}  // namespace sweep
