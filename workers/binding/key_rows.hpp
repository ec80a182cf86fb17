#pragma once
// Private to this room: the rows of the key table, in parts, and how they reach the members of an
// experiment.
#include <algorithm>
#include <stdexcept>
#include <type_traits>

#include "workers/binding/key.hpp"

namespace worker {

using policies::is, policies::is_not, policies::is_set, policies::is_unset;
using sweep::Value;
using C = ExperimentConfig;
using E = engine::EngineConfig;
using P = policies::PolicyConfig;

/// A number goes into a field of any type of numbers; seconds are a duration's unit.
template <class Field>
void assign(Field& field, const Value& value) {
  if constexpr (requires { field.emplace(); }) {
    assign(field.emplace(), value);
  } else if constexpr (requires { Field::parse(std::string()); }) {
    field = Field::parse(std::get<std::string>(value));
  } else if constexpr (std::is_same_v<Field, engine::Nanos>) {
    field = engine::from_seconds(std::get<double>(value));
  } else if constexpr (std::is_integral_v<Field> && !std::is_same_v<Field, bool>) {
    field = static_cast<Field>(std::get<std::int64_t>(value));
  } else {
    field = std::get<Field>(value);
  }
}

template <class Class, class Field>
Class class_of(Field Class::*);
template <class Class, class Field>
Field field_of(Field Class::*);
template <auto first, auto... rest>
struct EndOf : EndOf<rest...> {};
template <auto last>
struct EndOf<last> {
  using type = decltype(field_of(last));
};

/// Calls use(member) with the member at the end of a path of members. On the way there may be
/// optional members, and variants; where they do not hold what has the next member, nothing is
/// done.
template <auto first, auto... rest, class Object, class Use>
void at_end(Object& object, const Use& use) {
  auto& member = object.*first;
  if constexpr (sizeof...(rest) == 0) {
    use(member);
  } else if constexpr (requires { member.valueless_by_exception(); }) {
    const auto next = [](auto path, auto...) { return path; };
    if (auto* held = std::get_if<decltype(class_of(next(rest...)))>(&member))
      at_end<rest...>(*held, use);
  } else if constexpr (requires { member.has_value(); }) {
    if (member) at_end<rest...>(*member, use);
  } else {
    at_end<rest...>(member, use);
  }
}

/// Stores into the member at the end of `path`.
template <auto... path>
void to(C& config, const Value& value) {
  at_end<path...>(config, [&](auto& member) { assign(member, value); });
}

/// A row for one of several words, each of which stands for a value of the member at the end of
/// `path`.
template <auto... path>
Key words_for(const char* name, Default fallback, Condition where, const char* says,
              std::vector<std::pair<std::string, typename EndOf<path...>::type>> words) {
  OneOf type;
  for (const auto& [word, meaning] : words) type.words.push_back(word);
  const auto store = [words = std::move(words)](C& config, const Value& value) {
    const auto said = [&](const auto& each) { return each.first == std::get<std::string>(value); };
    const auto meant = std::ranges::find_if(words, said);
    if (meant == words.end()) throw std::logic_error("a row stores a word that it does not have");
    at_end<path...>(config, [&](auto& member) { member = meant->second; });
  };
  return {name, type, std::move(fallback), std::move(where), says, store};
}

// In the order of the documentation.
extern const std::vector<Key> kCellRows;      // what runs on what: gpu, model, weights.*, ...
extern const std::vector<Key> kEngineRows;    // engine.*
extern const std::vector<Key> kPolicyRows;    // policy and policy.*, except the host tier's
std::vector<Key> rows_of_rules();             // policy.*, as rules declare them
extern const std::vector<Key> kTierRows;      // the host tier and preemption
extern const std::vector<Key> kWorkloadRows;  // workload.* and jps
extern const std::vector<Key> kServerRows;    // server.*

}  // namespace worker
