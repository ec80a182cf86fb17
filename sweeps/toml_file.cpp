#include "sweeps/toml_file.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

namespace sweep {

namespace {

std::string read_file(const std::string& path) {
  if (std::filesystem::is_directory(path)) {
    throw SpecError(path + ": cannot be read: it is a folder");
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) throw SpecError(path + ": cannot be read: " + std::strerror(errno));
  std::ostringstream text;
  text << in.rdbuf();
  if (text.bad()) throw SpecError(path + ": cannot be read: " + std::strerror(errno));
  return std::move(text).str();
}

std::optional<Value> scalar(const toml::node& node) {
  if (const auto* boolean = node.as_boolean()) return Value(boolean->get());
  if (const auto* integer = node.as_integer()) return Value(std::int64_t{integer->get()});
  if (const auto* number = node.as_floating_point()) return Value(number->get());
  if (const auto* text = node.as_string()) return Value(text->get());
  return std::nullopt;
}

Location location_at(const toml::source_position& at, const std::string& path) {
  return {path, static_cast<int>(at.line), static_cast<int>(at.column)};
}

}  // namespace

toml::table parse_toml_text(std::string_view text, const std::string& path) {
  try {
    return toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    fail_at(location_at(error.source().begin, path), std::string(error.description()));
  }
}

toml::table parse_toml_file(const std::string& path) {
  return parse_toml_text(read_file(path), path);
}

Location location_of(const toml::node& node, const std::string& path) {
  return location_at(node.source().begin, path);
}

Location location_of(const toml::key& key, const std::string& path) {
  return location_at(key.source().begin, path);
}

std::string describe(const Value& value) {
  static constexpr const char* kNames[] = {"the boolean ", "the integer ", "the float ",
                                           "the string "};
  return kNames[value.index()] + to_text(value);
}

std::string describe(const toml::node& node) {
  if (node.is_array()) return "an array";
  if (node.is_table()) return "a table";
  if (const std::optional<Value> value = scalar(node)) return describe(*value);
  return "a date or time";
}

void fail_at(const Location& where, const std::string& message) {
  throw SpecError(to_text(where) + ": " + message);
}

Value scalar_of(const toml::node& node, const std::string& key, const Location& where) {
  if (const std::optional<Value> value = scalar(node)) return *value;
  fail_at(where,
          key + " must be a boolean, an integer, a float or a string, found " + describe(node));
}

void flatten_entry(const toml::key& key, const toml::node& node, const std::string& prefix,
                   const std::string& path, ParamMap& params) {
  const std::string name = prefix + std::string(key.str());
  if (const toml::table* nested = node.as_table()) {
    flatten(*nested, name + ".", path, params);
    return;
  }
  const Location where = location_of(key, path);
  const auto [slot, added] = params.try_emplace(name, Param{scalar_of(node, name, where), where});
  // a.b and "a.b" are different keys to TOML and the same parameter here.
  if (!added) fail_at(where, name + " is set twice, first at " + to_text(slot->second.where));
}

void flatten(const toml::table& table, const std::string& prefix, const std::string& path,
             ParamMap& params) {
  for (const auto& [key, node] : table) flatten_entry(key, node, prefix, path, params);
}

}  // namespace sweep
