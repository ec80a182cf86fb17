#pragma once
// Private to this room: keeps toml++ out of the headers that others include.
#include <toml++/toml.h>
#include <string>
#include <string_view>
#include <vector>

#include "sweeps/definition/params.hpp"

namespace sweep {

/// Throws SpecError with file:line:column of a syntax error.
toml::table parse_toml_text(std::string_view text, const std::string& path);

inline Location location_at(const toml::source_position& at, const std::string& path) {
  return {path, static_cast<int>(at.line), static_cast<int>(at.column)};
}
/// Where a node or a key begins.
inline Location location_of(const auto& of, const std::string& path) {
  return location_at(of.source().begin, path);
}

/// "an array", "a table", "the string \"x\"": for the "found ..." part of a message.
std::string describe(const toml::node& node);

/// The scalar that `node` holds; arrays, tables and dates are errors that name `key`, at `where`.
Value scalar_of(const toml::node& node, const std::string& key, const Location& where);

/// A key of a document with the node behind it: a scalar, an array or a date, never a table.
struct Leaf {
  std::string key;  // dotted
  const toml::node* node;
  Location where;  // of the key
};

/// Everything under `table`, nested tables as dotted keys behind `prefix`, in the order written.
/// The leaves point into `table`. Throws SpecError when two keys are the same once dotted.
std::vector<Leaf> leaves_of(const toml::table& table, const std::string& path,
                            const std::string& prefix = "");

}  // namespace sweep
