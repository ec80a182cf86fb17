#include "sweeps/toml_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <tuple>

#include "sweeps/messages.hpp"

namespace sweep {

namespace {

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

void collect_leaves(const toml::table& table, const std::string& path, const std::string& prefix,
                    std::vector<Leaf>& leaves) {
  for (const auto& [key, node] : table) {
    const std::string name = prefix + std::string(key.str());
    if (const toml::table* nested = node.as_table()) {
      collect_leaves(*nested, path, name + ".", leaves);
    } else {
      leaves.push_back({name, &node, location_of(key, path)});
    }
  }
}

}  // namespace

std::string read_file(const std::string& path) {
  if (std::error_code ignored; std::filesystem::is_directory(path, ignored)) {
    throw SpecError(path + ": cannot be read: it is a folder");
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) throw SpecError(path + ": cannot be read: " + std::strerror(errno));
  std::ostringstream text;
  text << in.rdbuf();
  if (text.bad()) throw SpecError(path + ": cannot be read: " + std::strerror(errno));
  return std::move(text).str();
}

toml::table parse_toml_text(std::string_view text, const std::string& path) {
  try {
    return toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    fail_at(location_at(error.source().begin, path), std::string(error.description()));
  }
}

Location location_of(const toml::node& node, const std::string& path) {
  return location_at(node.source().begin, path);
}

Location location_of(const toml::key& key, const std::string& path) {
  return location_at(key.source().begin, path);
}

std::string describe(const toml::node& node) {
  if (node.is_array()) return "an array";
  if (node.is_table()) return "a table";
  if (const std::optional<Value> value = scalar(node)) return describe(*value);
  return "a date or time";
}

Value scalar_of(const toml::node& node, const std::string& key, const Location& where) {
  if (const std::optional<Value> value = scalar(node)) return *value;
  fail_at(where,
          key + " must be a boolean, an integer, a float or a string, found " + describe(node));
}

std::vector<Leaf> leaves_of(const toml::table& table, const std::string& path,
                            const std::string& prefix) {
  std::vector<Leaf> leaves;
  collect_leaves(table, path, prefix, leaves);
  // toml++ keeps tables sorted by key; a sweep's axes count in the order written.
  std::sort(leaves.begin(), leaves.end(), [](const Leaf& a, const Leaf& b) {
    return std::tie(a.where.line, a.where.column) < std::tie(b.where.line, b.where.column);
  });
  std::map<std::string_view, const Leaf*> seen;
  for (const Leaf& leaf : leaves) {
    const auto [first, added] = seen.try_emplace(leaf.key, &leaf);
    if (added) continue;
    // a.b and "a.b" differ for TOML and are the same parameter here.
    fail_at(leaf.where, leaf.key + " is set twice, first at " + to_text(first->second->where));
  }
  return leaves;
}

}  // namespace sweep
