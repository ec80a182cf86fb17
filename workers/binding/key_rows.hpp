#pragma once
// Private to this room: the rows of the key table, in parts, and how they reach the members of an
// experiment.
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

/// A row for one of several words, each of which stands for a value of the member that `reach`
/// finds.
template <class Member>
Key word_row(const char* name, Default fallback, Condition where, const char* says,
             Member& (*reach)(C& config),
             std::vector<std::pair<std::string, std::type_identity_t<Member>>> words) {
  OneOf type;
  for (const auto& [word, meaning] : words) type.words.push_back(word);
  const auto store = [reach, words = std::move(words)](C& config, const Value& value) {
    for (const auto& [word, meaning] : words)
      if (word == std::get<std::string>(value)) reach(config) = meaning;
  };
  return {name, type, std::move(fallback), std::move(where), says, store};
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
