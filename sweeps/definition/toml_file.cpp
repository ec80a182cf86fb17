#include "sweeps/definition/toml_file.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <tuple>

#include "sweeps/definition/messages.hpp"
#include "sweeps/definition/secrets.hpp"

namespace sweep {

namespace {

constexpr int kMostKeyParts = 16;

std::optional<Value> scalar(const toml::node& node) {
  if (const auto* boolean = node.as_boolean()) return Value(boolean->get());
  if (const auto* integer = node.as_integer()) return Value(std::int64_t{integer->get()});
  if (const auto* number = node.as_floating_point()) return Value(number->get());
  if (const auto* text = node.as_string()) return Value(text->get());
  return std::nullopt;
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

/// Where a string in one or in three quotes, with up to two more before its end, ends.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const std::string three(3, quote);
  const bool many_lines = text.substr(at).starts_with(three);
  const std::string_view end = std::string_view(three).substr(0, many_lines ? 3 : 1);
  at += end.size();
  while (at < text.size() && !text.substr(at).starts_with(end))
    at += quote == '"' && text[at] == '\\' ? 2 : 1;
  at = std::min(at + end.size(), text.size());
  for (int more = 0; many_lines && more < 2 && at < text.size() && text[at] == quote; ++more) ++at;
  return at;
}

/// Where a key ("a.b.c") has one part too many; npos if none has. It is found before the library
/// makes a table of each part: tables in tables are freed by recursion. Inside a key are parts,
/// quoted or not, dots and blanks. The library reports what is no TOML.
std::size_t excess_part(std::string_view text) {
  int parts = 1;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const auto byte = static_cast<unsigned char>(c);
    if (c == '.' && ++parts > kMostKeyParts) return at;
    if (c == '"' || c == '\'') {
      at = end_of_string(text, at);
      continue;
    }
    if (c == '#') at = std::min(text.find('\n', at), text.size());
    const bool in_key = std::isalnum(byte) != 0 || byte >= 0x80 ||
                        std::string_view("._- \t").find(c) != std::string_view::npos;
    if (!in_key) parts = 1;
    ++at;
  }
  return text.npos;
}

void check_keys(std::string_view text, const std::string& path) {
  const std::size_t at = excess_part(text);
  if (at == text.npos) return;
  const auto line =
      1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  const std::size_t line_end = at == 0 ? text.npos : text.rfind('\n', at - 1);
  const auto column = static_cast<int>(line_end == text.npos ? at + 1 : at - line_end);
  fail_at({path, static_cast<int>(line), column},
          "a key has more than the " + std::to_string(kMostKeyParts) + " parts allowed");
}

/// Lines count from 1.
std::size_t begin_of_line(std::string_view document, toml::source_index line) {
  std::size_t begin = 0;
  for (; line > 1; --line) begin = std::min(document.find('\n', begin), document.size() - 1) + 1;
  return begin;
}

/// The value that begins at or before a place in a document, as it is written, and where it begins.
struct Written {
  std::string text;
  toml::source_position at;
};

Written value_at(std::string_view document, toml::source_position at) {
  document.remove_prefix(begin_of_line(document, at.line));
  const std::string_view line = document.substr(0, document.find_first_of("\r\n"));
  std::size_t begin = 0;  // columns count characters
  for (auto column = at.column; column > 1 && begin < line.size(); --column) do
      ++begin;
    while (begin < line.size() && (static_cast<unsigned char>(line[begin]) & 0xC0) == 0x80);
  constexpr std::string_view kBefore = " \t=[{,", kBehind = " \t,]}#";
  while (begin > 0 && kBefore.find(line[begin - 1]) == std::string_view::npos) {
    --begin;
    if ((static_cast<unsigned char>(line[begin]) & 0xC0) != 0x80) --at.column;
  }
  const std::size_t end = std::min(line.find_first_of(kBehind, begin), line.size());
  return {std::string(line.substr(begin, end - begin)), at};
}

/// The problem of a value that begins as no TOML value does, or as another one; empty: it is
/// something else.
std::string unquoted(const std::string& text) {
  if (text.empty() || text.front() == '"' || text.front() == '\'') return "";
  if (text == "True" || text == "False")
    return "must be true or false in small letters, found " + text;
  const bool is_number_and_unit =
      std::isdigit(static_cast<unsigned char>(text.front())) != 0 &&
      std::ranges::any_of(text, [](unsigned char c) { return std::isalpha(c) != 0; });
  constexpr std::string_view kCurly[] = {"\u201c", "\u201d", "\u2018", "\u2019"};
  for (const std::string_view quote : kCurly)
    if (text.starts_with(quote)) return "must have straight quotes (\"), found " + text;
  if (is_number_and_unit)
    return "must be a number without a unit, or a text in quotes, found " + text;
  return "a text must be in quotes: " + in_quotes(text) + ", found " + text;
}

/// The key whose value begins at or before a place, with its table; empty where none is found.
std::string key_before(std::string_view document, toml::source_position at) {
  const std::size_t line = begin_of_line(document, at.line);
  const std::size_t line_end = std::min(document.find('\n', line), document.size());
  const std::size_t equals = document.rfind('=', std::min(line + at.column, line_end));
  if (equals == document.npos) return "";
  constexpr std::string_view kAround = " \t\"'";
  const auto trimmed = [&](std::string_view text) {
    const std::size_t begin = std::min(text.find_first_not_of(kAround), text.size());
    return std::string(text.substr(begin, text.find_last_not_of(kAround) + 1 - begin));
  };
  const std::string before = '\n' + std::string(document.substr(0, equals));
  const std::size_t header = before.rfind("\n[");
  const std::size_t begin = before.find_last_of("\n{,[") + 1;
  const std::string key = trimmed(before.substr(begin));
  if (header == document.npos) return key;
  const std::string_view table = std::string_view(before).substr(header + 2);
  return trimmed(table.substr(0, table.find(']'))) + '.' + key;
}

[[noreturn]] void fail_parse(std::string_view text, const toml::parse_error& error,
                             const std::string& path) {
  const std::string_view says = error.description();
  for (const char* kind : {"boolean", "value", "floating-point", "decimal integer"}) {
    if (!says.starts_with("Error while parsing " + std::string(kind) + ':')) continue;
    const Written found = value_at(text, error.source().begin);
    const bool is_word = std::ranges::any_of(found.text, [](unsigned char c) {
      return std::isalpha(c) != 0 || c >= 0x80 || c == '/' || c == '~';
    });
    const std::string why = is_word ? unquoted(found.text) : "";
    if (why.empty()) continue;
    const std::string key = key_before(text, error.source().begin);
    if (is_hidden(key, found.text))
      fail_at(location_at(found.at, path),
              key + " must be a text in quotes; what was found is not shown");
    fail_at(location_at(found.at, path), why);
  }
  fail_at(location_at(error.source().begin, path), std::string(says));
}

}  // namespace

toml::table parse_toml_text(std::string_view text, const std::string& path) {
  check_keys(text, path);
  try {
    return toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    fail_parse(text, error, path);
  }
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
