#include "sweeps/definition/selection.hpp"

#include <algorithm>
#include <cctype>
#include <set>

#include "sweeps/definition/assignment.hpp"
#include "sweeps/definition/messages.hpp"

namespace sweep {

namespace {

constexpr char kRepeat[] = "repeat";

/// The cell's value under a key, or null.
const Value* value_in(const Cell& cell, const std::string& key) {
  const auto found = cell.params.find(key);
  return found == cell.params.end() ? nullptr : &found->second.value;
}

bool matches(const Cell& cell, const std::string& key, const Value& value) {
  const Value repeat = std::int64_t{cell.repeat};
  const Value* found = key == kRepeat ? &repeat : value_in(cell, key);
  return found != nullptr && same_value(value, *found);
}

bool matches(const Cell& cell, const Alternative& meant) {
  return std::ranges::all_of(
      meant, [&](const auto& part) { return matches(cell, part.first, part.second); });
}

bool matches(const Cell& cell, const Filter& filter) {
  return std::ranges::all_of(filter, [&](const std::vector<Alternative>& any) {
    return std::ranges::any_of(any, [&](const Alternative& meant) { return matches(cell, meant); });
  });
}

bool is_key_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

/// Whether "key=" begins here.
bool is_assignment(std::string_view text) {
  const std::size_t equals = text.find('=');
  return equals != text.npos && equals > 0 &&
         std::ranges::all_of(text.substr(0, equals), is_key_char);
}

/// Splits at commas that are neither between double quotes nor in brackets, and, as cells are
/// named, at blanks before a key.
std::vector<std::string> items_of(const std::string& text) {
  std::vector<std::string> items(1);
  bool inside = false;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') inside = !inside;
    if (!inside) depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    const bool is_plain = !inside && depth <= 0;
    if (is_plain &&
        (c == ',' || (c == ' ' && is_assignment(std::string_view(text).substr(i + 1))))) {
      items.emplace_back();
    } else {
      items.back() += c;
    }
  }
  return items;
}

Condition& condition_on(std::vector<Condition>& filter, const std::string& key) {
  for (Condition& each : filter) {
    if (each.axis == key) return each;
  }
  return filter.emplace_back(Condition{key, {}});
}

/// "a=1,2,b=x" is a in {1, 2} and b = x.
std::vector<Condition> parse_filter(const std::string& text, const std::string& flag) {
  std::vector<Condition> filter;
  std::string key;
  for (const std::string& item : items_of(text)) {
    const bool is_further = !key.empty() && !is_assignment(item);
    Assignment given = is_further ? Assignment{key, {parse_value(item, key, flag), {flag, 0, 0}}}
                                  : parse_assignment(item, flag);
    key = given.key;
    condition_on(filter, key).any_of.push_back(std::move(given.param));
  }
  return filter;
}

std::vector<std::string> keys_of(const std::vector<Cell>& cells) {
  std::set<std::string> keys = {kRepeat};
  for (const Cell& cell : cells) {
    for (const auto& [key, param] : cell.params) keys.insert(key);
  }
  return {keys.begin(), keys.end()};
}

/// The different values that cells have under a key, in plan order.
std::vector<Value> values_of(const std::vector<Cell>& cells, const std::string& key) {
  std::vector<Value> values;
  for (const Cell& cell : cells) {
    const Value* found = value_in(cell, key);
    if (found == nullptr) continue;
    const auto same = [&](const Value& each) { return same_value(each, *found); };
    if (std::none_of(values.begin(), values.end(), same)) values.push_back(*found);
  }
  return values;
}

[[noreturn]] void fail_unknown_key(const std::vector<Cell>& cells, const std::string& key,
                                   const Location& where) {
  std::vector<std::string> axes = {kRepeat};
  for (const Cell& cell : cells)
    for (const auto& [axis, value] : cell.axes)
      if (std::ranges::find(axes, axis) == axes.end()) axes.insert(axes.end() - 1, axis);
  std::vector<std::string> known = axes;
  const std::vector<std::string> keys = keys_of(cells);
  known.insert(known.end(), keys.begin(), keys.end());
  fail_at(where, "no cell has the key " + in_quotes(key) + suggestion(key, known) +
                     "; cells differ in " + joined(axes));
}

/// Interprets a value of a filter: the value itself, or else the cells labelled so.
Alternative meant_by(const std::vector<Cell>& cells, const std::string& key, const Param& given,
                     const LabelReader& read_label) {
  const auto& [value, where] = given;
  const auto is_used = [&](const Alternative& meant) {
    return std::ranges::any_of(cells, [&](const Cell& cell) { return matches(cell, meant); });
  };
  Alternative plain = {{key, value}};
  if (is_used(plain)) return plain;
  Alternative labeled = read_label(key, bare_text(value));
  if (!labeled.empty() && is_used(labeled)) return labeled;
  const std::vector<std::string> keys = keys_of(cells);
  if (!std::binary_search(keys.begin(), keys.end(), key)) fail_unknown_key(cells, key, where);
  if (key == kRepeat) fail_at(where, "no cell has repeat " + to_text(value));
  fail_at(where, must_be_one_of(key, values_of(cells, key), value));
}

std::vector<Filter> parse_filters(const std::vector<std::string>& texts, const std::string& flag,
                                  const std::vector<Cell>& cells, const LabelReader& read_label) {
  std::vector<Filter> filters;
  for (const std::string& text : texts) {
    Filter& filter = filters.emplace_back();
    for (const Condition& condition : parse_filter(text, flag)) {
      std::vector<Alternative>& any = filter.emplace_back();
      for (const Param& each : condition.any_of)
        any.push_back(meant_by(cells, condition.axis, each, read_label));
    }
  }
  return filters;
}

bool any_matches(const Cell& cell, const std::vector<Filter>& filters) {
  return std::any_of(filters.begin(), filters.end(),
                     [&](const auto& filter) { return matches(cell, filter); });
}

}  // namespace

Selection::Selection(const std::vector<Cell>& cells, const std::vector<std::string>& only,
                     const std::vector<std::string>& skip, const LabelReader& read_label)
    : only_(parse_filters(only, "--only", cells, read_label)),
      skip_(parse_filters(skip, "--skip", cells, read_label)) {}

bool Selection::contains(const Cell& cell) const {
  return (only_.empty() || any_matches(cell, only_)) && !any_matches(cell, skip_);
}

}  // namespace sweep
