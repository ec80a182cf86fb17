#pragma once
#include <string>
#include <string_view>

#include "sweeps/definition/sweep.hpp"

namespace sweep {

/// A parameter given on a command line.
struct Assignment {
  std::string key;
  Param param;
};

/// Takes "key=value" apart. The value is written as in TOML, and a bare word is a string.
/// `flag` is the flag it came from and becomes the parameter's place.
Assignment parse_assignment(std::string_view text, const std::string& flag = "--set");

/// Reads a value as parse_assignment does; `key` is for messages.
Value parse_value(std::string_view text, const std::string& key, const std::string& flag);

/// Sets a parameter over everything that the file says about it; an axis becomes this one value.
void assign(SweepSpec& spec, const Assignment& assignment);

}  // namespace sweep
