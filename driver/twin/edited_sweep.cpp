#include "driver/twin/edited_sweep.hpp"

#include <algorithm>
#include <regex>

namespace driver {
namespace {

/// Where a line begins, counted from 1.
std::size_t begin_of_line(const std::string& text, int line) {
  std::size_t at = 0;
  for (int i = 1; i < line && at != std::string::npos; ++i) {
    at = text.find('\n', at);
    if (at != std::string::npos) ++at;
  }
  return std::min(at, text.size());
}

/// Puts `value` in place of the scalar behind the next '='.
void replace_value(std::string& text, std::size_t from, const std::string& value) {
  const std::size_t equals = text.find('=', from);
  if (equals == std::string::npos) return;
  const std::size_t begin = std::min(text.find_first_not_of(" \t", equals + 1), text.size());
  const bool quoted = begin < text.size() && (text[begin] == '"' || text[begin] == '\'');
  std::size_t end =
      quoted ? text.find(text[begin], begin + 1) : text.find_first_of(" \t\r\n,}#", begin);
  end = end == std::string::npos ? text.size() : end + (quoted ? 1 : 0);
  text.replace(begin, end - begin, value);
}

void replace_name(std::string& text, const std::string& name) {
  static const std::regex kName(R"((^|\n)\s*(sweep\.)?name\s*=)");
  const auto table = static_cast<std::ptrdiff_t>(std::min(text.find("[sweep]"), text.size()));
  const auto begin = text.cbegin() + (table == std::ssize(text) ? 0 : table);
  std::smatch found;
  if (std::regex_search(begin, text.cend(), found, kName))
    replace_value(text, static_cast<std::size_t>(found[0].second - text.cbegin()) - 1, name);
}

/// In the table [engine], or before the first table where there is none.
void add_key(std::string& text, const std::string& key, const std::string& value) {
  static const std::regex kEngine(R"((^|\n)[ \t]*\[engine\][^\n]*\n?)"),
      kTable(R"((^|\n)[ \t]*\[)");
  const std::string line = key.substr(key.find('.') + 1) + " = " + value + '\n';
  std::smatch found;
  if (std::regex_search(text, found, kEngine)) {
    const auto at = static_cast<std::size_t>(found.position(0) + found.length(0));
    text.insert(at, text[at - 1] == '\n' ? line : '\n' + line);
  } else {
    const bool any = std::regex_search(text, found, kTable);
    const std::size_t at =
        any ? static_cast<std::size_t>(found.position(0) + found.length(1)) : text.size();
    text.insert(at, "engine." + line);
  }
}

bool has(const sweep::SweepSpec& spec, const std::string& key, const sweep::Value& value) {
  const auto found = spec.base.find(key);
  return found != spec.base.end() && sweep::same_value(found->second.value, value);
}

}  // namespace

std::string edited_sweep(const sweep::SweepSpec& spec, const std::string& name,
                         const std::string& backend,
                         const std::map<std::string, sweep::Value>& values) {
  std::string text = spec.text;
  const auto replace_at = [&](const sweep::Location& where, const std::string& value) {
    const auto column = static_cast<std::size_t>(std::max(where.column - 1, 0));
    replace_value(text, begin_of_line(text, where.line) + column, value);
  };
  // Values stay on their lines, so that those behind them are where they were; lines come last.
  if (spec.backend) replace_at(spec.backend->where, sweep::to_text(sweep::Value(backend)));
  for (const auto& [key, value] : values)
    if (const auto old = spec.base.find(key); old != spec.base.end())
      replace_at(old->second.where, sweep::to_text(value));
  replace_name(text, sweep::to_text(sweep::Value(name)));
  for (const auto& [key, value] : values)
    if (!spec.base.contains(key)) add_key(text, key, sweep::to_text(value));
  const sweep::SweepSpec edited = sweep::parse_spec(text, spec.path);
  const bool kept = std::ranges::all_of(
      values, [&](const auto& each) { return has(edited, each.first, each.second); });
  if (!kept || edited.name != name)
    throw sweep::SpecError(spec.path +
                           ": its name and engine.* cannot be edited as they are "
                           "written: give each a line of its own, key = value");
  return text;
}

}  // namespace driver
