#pragma once
// Private to this folder: keeps toml++ out of the headers that others include.
#include <toml++/toml.h>
#include <string>
#include <string_view>

#include "sweeps/params.hpp"

namespace sweep {

/// Reads and parses a file. Throws SpecError: cannot be read, or file:line:column of the syntax
/// error.
toml::table parse_toml_file(const std::string& path);
toml::table parse_toml_text(std::string_view text, const std::string& path);

Location location_of(const toml::node& node, const std::string& path);
Location location_of(const toml::key& key, const std::string& path);

/// "an array", "a table", "the string \"x\"": for the "found ..." part of a message.
std::string describe(const toml::node& node);
std::string describe(const Value& value);

/// Throws SpecError "<where>: <message>".
[[noreturn]] void fail_at(const Location& where, const std::string& message);

/// The scalar that `node` holds; arrays, tables and dates are errors that name `key`, at `where`.
Value scalar_of(const toml::node& node, const std::string& key, const Location& where);

/// Adds every scalar under `table` to `params`, nested tables as dotted keys behind `prefix`.
void flatten(const toml::table& table, const std::string& prefix, const std::string& path,
             ParamMap& params);

/// Adds one entry of a table in the same way.
void flatten_entry(const toml::key& key, const toml::node& node, const std::string& prefix,
                   const std::string& path, ParamMap& params);

}  // namespace sweep
