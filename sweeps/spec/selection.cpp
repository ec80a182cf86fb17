#include "sweeps/spec/selection.hpp"

#include <algorithm>
#include <set>

#include "sweeps/spec/assignment.hpp"
#include "sweeps/spec/messages.hpp"

namespace sweep {

namespace {

constexpr char kRepeat[] = "repeat";

/// The cell's value under a key, or null.
const Value* value_in(const Cell& cell, const std::string& key) {
  const auto found = cell.params.find(key);
  return found == cell.params.end() ? nullptr : &found->second.value;
}

bool matches(const Cell& cell, const Condition& condition) {
  const Value repeat = std::int64_t{cell.repeat};
  const Value* found = condition.axis == kRepeat ? &repeat : value_in(cell, condition.axis);
  return found != nullptr &&
         std::any_of(condition.any_of.begin(), condition.any_of.end(),
                     [&](const Param& each) { return same_value(each.value, *found); });
}

bool matches(const Cell& cell, const std::vector<Condition>& filter) {
  return std::all_of(filter.begin(), filter.end(),
                     [&](const Condition& condition) { return matches(cell, condition); });
}

/// Splits at commas that are not between double quotes.
std::vector<std::string> items_of(const std::string& text) {
  std::vector<std::string> items(1);
  bool inside = false;
  for (const char c : text) {
    if (c == '"') inside = !inside;
    if (c == ',' && !inside) {
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
    if (!key.empty() && item.find('=') == std::string::npos) {
      condition_on(filter, key).any_of.push_back({parse_value(item, key, flag), {flag, 0, 0}});
      continue;
    }
    Assignment given = parse_assignment(item, flag);
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

void check_condition(const std::vector<Cell>& cells, const Condition& condition) {
  for (const auto& [value, where] : condition.any_of) {
    const Condition alone{condition.axis, {{value, where}}};
    const bool used = std::any_of(cells.begin(), cells.end(),
                                  [&](const Cell& cell) { return matches(cell, alone); });
    if (used) continue;
    const std::vector<std::string> keys = keys_of(cells);
    if (!std::binary_search(keys.begin(), keys.end(), condition.axis)) {
      fail_at(where, "no cell has the key " + in_quotes(condition.axis) +
                         suggestion(condition.axis, keys));
    }
    if (condition.axis == kRepeat) fail_at(where, "no cell has repeat " + to_text(value));
    fail_at(where, condition.axis + " " + must_be_one_of(values_of(cells, condition.axis), value));
  }
}

std::vector<std::vector<Condition>> parse_filters(const std::vector<std::string>& texts,
                                                  const std::string& flag,
                                                  const std::vector<Cell>& cells) {
  std::vector<std::vector<Condition>> filters;
  for (const std::string& text : texts) {
    filters.push_back(parse_filter(text, flag));
    for (const Condition& condition : filters.back()) check_condition(cells, condition);
  }
  return filters;
}

bool any_matches(const Cell& cell, const std::vector<std::vector<Condition>>& filters) {
  return std::any_of(filters.begin(), filters.end(),
                     [&](const auto& filter) { return matches(cell, filter); });
}

}  // namespace

Selection::Selection(const std::vector<Cell>& cells, const std::vector<std::string>& only,
                     const std::vector<std::string>& skip)
    : only_(parse_filters(only, "--only", cells)), skip_(parse_filters(skip, "--skip", cells)) {}

bool Selection::contains(const Cell& cell) const {
  return (only_.empty() || any_matches(cell, only_)) && !any_matches(cell, skip_);
}

}  // namespace sweep
