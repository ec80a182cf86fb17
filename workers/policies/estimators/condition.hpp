#pragma once
#include <string>
#include <utility>
#include <vector>

namespace policies {

/// A test of one key of a sweep file; `backend` is a key, too.
struct KeyTest {
  enum class Kind { equals, differs, set, unset };
  std::string key;
  Kind kind = Kind::set;
  std::vector<std::string> words = {};  // equals: one of them; differs: none of them
};

/// When a key counts, by the values of others: all clauses hold, each by one of its tests. Without
/// clauses it always counts.
struct Condition {
  std::vector<std::vector<KeyTest>> clauses = {};
};

inline Condition is(std::string key, std::vector<std::string> words) {
  return {{{{std::move(key), KeyTest::Kind::equals, std::move(words)}}}};
}
inline Condition is_not(std::string key, std::string word) {
  return {{{{std::move(key), KeyTest::Kind::differs, {std::move(word)}}}}};
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
