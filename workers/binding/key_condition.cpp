#include "workers/binding/key_condition.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace worker {
namespace {

/// A number matches however it is written: 0 and 0.0 are one.
bool is_word(const sweep::Value& value, const std::string& word) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text == word;
  if (const auto* flag = std::get_if<bool>(&value)) return word == (*flag ? "true" : "false");
  double number = 0;
  return std::from_chars(word.data(), word.data() + word.size(), number).ec == std::errc() &&
         sweep::same_value(value, number);
}

bool is_set(const sweep::Value* value) {
  return value != nullptr && *value != sweep::Value{std::string()};
}

}  // namespace

KeyCondition::KeyCondition(std::string_view text) {
  for (const std::string& clause : sweep::split(text, "; ")) {
    clauses_.emplace_back();
    for (const std::string& each : sweep::split(clause, " or "))
      clauses_.back().push_back(parse(each));
  }
}

KeyCondition::Alternative KeyCondition::parse(const std::string& text) {
  std::istringstream in(text);
  std::string key, test, words;
  in >> key >> test >> words;
  if (test == "set") return {key, Test::set, {}};
  if (test == "unset") return {key, Test::unset, {}};
  if ((test != "=" && test != "!=") || words.empty())
    throw std::logic_error("no condition: " + text);
  return {key, test == "=" ? Test::equals : Test::differs, sweep::split(words, "|")};
}

bool KeyCondition::Alternative::holds(const ValueOf& value_of) const {
  const sweep::Value* value = value_of(key);
  if (test == Test::set) return is_set(value);
  if (test == Test::unset) return !is_set(value);
  const bool found = value != nullptr && std::ranges::any_of(words, [&](const std::string& word) {
                       return is_word(*value, word);
                     });
  return found == (test == Test::equals);
}

bool KeyCondition::holds(const Clause& clause, const ValueOf& value_of) {
  return std::ranges::any_of(clause, [&](const Alternative& each) { return each.holds(value_of); });
}

bool KeyCondition::holds(const ValueOf& value_of) const {
  return std::ranges::all_of(clauses_,
                             [&](const Clause& clause) { return holds(clause, value_of); });
}

bool KeyCondition::holds_beside(const std::string& key, const ValueOf& value_of) const {
  return std::ranges::all_of(clauses_, [&](const Clause& clause) {
    return std::ranges::find(clause, key, &Alternative::key) != clause.end() ||
           holds(clause, value_of);
  });
}

bool KeyCondition::rules_out_backend(const std::string& backend) const {
  const sweep::Value value = backend;
  const auto only_backend = [](const Alternative& each) { return each.key == "backend"; };
  return std::ranges::any_of(clauses_, [&](const Clause& clause) {
    return std::ranges::all_of(clause, only_backend) &&
           !holds(clause, [&](const std::string&) { return &value; });
  });
}

std::string KeyCondition::Alternative::in_words() const {
  if (test == Test::set) return key + " is set";
  if (test == Test::unset) return key + " is not set";
  return key + (test == Test::equals ? " is " : " is not ") + sweep::joined(words, " or ");
}

std::string KeyCondition::reasons(const ValueOf& value_of) const {
  KeyCondition that_hold("");
  for (const Clause& clause : clauses_) {
    that_hold.clauses_.emplace_back();
    std::ranges::copy_if(clause, std::back_inserter(that_hold.clauses_.back()),
                         [&](const Alternative& each) { return each.holds(value_of); });
  }
  return that_hold.in_words();
}

std::string KeyCondition::in_words() const {
  std::vector<std::string> all;
  for (const Clause& clause : clauses_) {
    std::vector<std::string> any;
    for (const Alternative& each : clause) any.push_back(each.in_words());
    const bool in_brackets = any.size() > 1 && clauses_.size() > 1;
    all.push_back((in_brackets ? "(" : "") + sweep::joined(any, " or ") + (in_brackets ? ")" : ""));
  }
  return sweep::joined(all, " and ");
}

}  // namespace worker
