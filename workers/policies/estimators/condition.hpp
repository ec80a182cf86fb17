#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace policies {

using KeyValue = std::variant<bool, std::int64_t, double, std::string>;

/// A test of one key of a sweep file; `backend` is a key, too.
struct KeyTest {
  enum class Kind { equals, differs, set, unset };
  std::string key;
  Kind kind = Kind::set;
  std::vector<KeyValue> values = {};  // equals: one of them; differs: none of them
  std::size_t number = 0;             // of the key; a table of keys fills it in
};

/// When a key counts, by the values of others: all clauses hold, each by one of its tests. Without
/// clauses it always counts.
struct Condition {
  std::vector<std::vector<KeyTest>> clauses = {};

  template <class Passes>
  bool holds(const Passes& passes) const {
    return std::ranges::all_of(
        clauses, [&](const auto& clause) { return std::ranges::any_of(clause, passes); });
  }
};

inline Condition is(std::string key, std::vector<KeyValue> values) {
  return {{{{std::move(key), KeyTest::Kind::equals, std::move(values)}}}};
}
inline Condition is_not(std::string key, KeyValue value) {
  return {{{{std::move(key), KeyTest::Kind::differs, {std::move(value)}}}}};
}
inline Condition is_set(std::string key) { return {{{{std::move(key), KeyTest::Kind::set}}}}; }
inline Condition is_unset(std::string key) { return {{{{std::move(key), KeyTest::Kind::unset}}}}; }

inline Condition operator&&(Condition one, const Condition& other) {
  one.clauses.insert(one.clauses.end(), other.clauses.begin(), other.clauses.end());
  return one;
}
/// Either side is a single clause.
inline Condition operator||(Condition one, const Condition& other) {
  for (const KeyTest& test : other.clauses.front()) one.clauses.front().push_back(test);
  return one;
}

}  // namespace policies
