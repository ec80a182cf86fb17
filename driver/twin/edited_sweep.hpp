#pragma once
#include <map>
#include <string>

#include "sweeps/spec/spec.hpp"

namespace driver {

/// The sweep file with another name, backend and values of keys, each given in its place or added
/// to [engine]; all else as it was written, comments too. Throws sweep::SpecError where the file is
/// written in a way that cannot be edited so.
std::string edited_sweep(const sweep::SweepSpec& spec, const std::string& name,
                         const std::string& backend,
                         const std::map<std::string, sweep::Value>& values);

}  // namespace driver
