#pragma once
// Private to this room: what must hold for a sweep, wherever it is written.
#include <string>
#include <string_view>

#include "sweeps/definition/sweep.hpp"

namespace sweep {

/// Whether a top-level key of a sweep file is something else than a parameter.
bool is_section(std::string_view key);

/// Base parameters stand in tables of any name, but not of one that looks like a section's. Throws
/// SpecError.
void check_table(const std::string& name, const Location& where);

/// The sweep's name becomes a file name. Throws SpecError.
void check_name(const std::string& name, const Location& where);

/// At least one value, all different, all of one kind. Throws SpecError, naming the axis `name`.
void check_axis(const std::string& name, const std::vector<Param>& values, const Location& at);

/// Reads repeat.n and repeat.seed; anything else is an unknown key. Throws SpecError.
Repeat repeat_of(const ParamMap& params, const std::string& document);

}  // namespace sweep
