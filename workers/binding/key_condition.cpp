#include "workers/binding/key_condition.hpp"

#include <algorithm>
#include <charconv>

namespace worker {
namespace {

using policies::KeyTest;
using Clause = std::vector<KeyTest>;

/// A number matches however it is written: 0 and 0.0 are one.
bool is_word(const sweep::Value& value, const std::string& word) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text == word;
  if (const auto* flag = std::get_if<bool>(&value)) return word == (*flag ? "true" : "false");
  double number = 0;
  return std::from_chars(word.data(), word.data() + word.size(), number).ec == std::errc() &&
         sweep::same_value(value, number);
}

bool passes(const KeyTest& test, const ValueOf& value_of) {
  const sweep::Value* value = value_of(test.key);
  const bool set = value != nullptr && *value != sweep::Value{std::string()};
  if (test.kind == KeyTest::Kind::set) return set;
  if (test.kind == KeyTest::Kind::unset) return !set;
  const bool found =
      value != nullptr && std::ranges::any_of(test.words, [&](const std::string& word) {
        return is_word(*value, word);
      });
  return found == (test.kind == KeyTest::Kind::equals);
}

bool holds_by(const Clause& clause, const ValueOf& value_of) {
  return std::ranges::any_of(clause, [&](const KeyTest& test) { return passes(test, value_of); });
}

std::string test_in_words(const KeyTest& test) {
  if (test.kind == KeyTest::Kind::set) return test.key + " is set";
  if (test.kind == KeyTest::Kind::unset) return test.key + " is not set";
  return test.key + (test.kind == KeyTest::Kind::equals ? " is " : " is not ") +
         sweep::joined(test.words, " or ");
}

}  // namespace

bool holds(const Condition& condition, const ValueOf& value_of) {
  return std::ranges::all_of(condition.clauses,
                             [&](const Clause& clause) { return holds_by(clause, value_of); });
}

bool holds_beside(const std::string& key, const Condition& condition, const ValueOf& value_of) {
  return std::ranges::all_of(condition.clauses, [&](const Clause& clause) {
    return std::ranges::find(clause, key, &KeyTest::key) != clause.end() ||
           holds_by(clause, value_of);
  });
}

bool rules_out_backend(const Condition& condition, const std::string& backend) {
  const sweep::Value value = backend;
  return std::ranges::any_of(condition.clauses, [&](const Clause& clause) {
    return std::ranges::all_of(clause, [](const KeyTest& test) { return test.key == "backend"; }) &&
           !holds_by(clause, [&](const std::string&) { return &value; });
  });
}

std::string reasons(const Condition& condition, const ValueOf& value_of) {
  Condition that_hold = condition;
  for (Clause& clause : that_hold.clauses)
    std::erase_if(clause, [&](const KeyTest& test) { return !passes(test, value_of); });
  return in_words(that_hold);
}

std::string in_words(const Condition& condition) {
  std::vector<std::string> all;
  for (const Clause& clause : condition.clauses) {
    std::vector<std::string> any;
    for (const KeyTest& test : clause) any.push_back(test_in_words(test));
    const bool in_brackets = any.size() > 1 && condition.clauses.size() > 1;
    all.push_back((in_brackets ? "(" : "") + sweep::joined(any, " or ") + (in_brackets ? ")" : ""));
  }
  return sweep::joined(all, " and ");
}

}  // namespace worker
