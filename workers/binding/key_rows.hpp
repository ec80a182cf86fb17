#pragma once
// Private to this room: the rows of the key table, in parts, and how they reach the members of an
// experiment.
#include <initializer_list>
#include <type_traits>

#include "workers/binding/keys.hpp"

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
  } else if constexpr (std::is_same_v<Field, engine::Nanos>) {
    field = engine::from_seconds(std::get<double>(value));
  } else if constexpr (std::is_integral_v<Field> && !std::is_same_v<Field, bool>) {
    field = static_cast<Field>(std::get<std::int64_t>(value));
  } else {
    field = std::get<Field>(value);
  }
}

/// Stores into the member of a member at the end of `path`.
template <auto... path>
void to(C& config, const Value& value) {
  assign((config.*....*path), value);
}

/// A member of the model that a backend executes; sim has none.
template <auto member>
void in_model(C& config, const Value& value) {
  if (config.transformer) assign((*config.transformer).*member, value);
}

inline bool is_word(const Value& value, const char* word) {
  return std::get<std::string>(value) == word;
}

/// What stands for a word.
template <class T>
T meant(const Value& value, std::initializer_list<std::pair<const char*, T>> words) {
  for (const auto& [word, meaning] : words)
    if (is_word(value, word)) return meaning;
  throw std::logic_error("a word without a meaning: " + std::get<std::string>(value));
}

/// The rows of all groups, one group after another.
inline std::vector<Key> rows_in(const std::vector<std::vector<Key>>& groups) {
  std::vector<Key> rows;
  for (const std::vector<Key>& group : groups) rows.insert(rows.end(), group.begin(), group.end());
  return rows;
}

std::vector<Key> rows_of_cell();      // what runs on what: gpu, model, weights.*, sim.*, record.*
std::vector<Key> rows_of_engine();    // engine.*
std::vector<Key> rows_of_policy();    // policy and policy.*, except the host tier's
std::vector<Key> rows_of_tier();      // the host tier and preemption
std::vector<Key> rows_of_workload();  // workload.* and jps
std::vector<Key> rows_of_server();    // server.*

}  // namespace worker
